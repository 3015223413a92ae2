#include <fmt/format.h>

#include <algorithm>

#include "optimizer/facts/convolution.h"
#include "optimizer/propose/weights/structure.h"

namespace isomer {
namespace {

using Kind = ProductSum::Kind;

bool is_two_dimensional(const Convolution& c) { return c.kernel.size() == 2; }

// w[.., i, j] = w[.., 0, 0]: a mean of the window, then a convolution of one tap.
std::optional<Proposal> as_mean(const Site& site, const ProductSum& p, const Convolution& c) {
  const std::size_t d = c.kernel.size();
  for (std::size_t k = 0; k < d; ++k)
    if (c.dilations[k] != 1 || c.pads[k] >= c.kernel[k] || c.pads[d + k] >= c.kernel[k]) return std::nullopt;
  StructureClaim claim(site, p);
  const auto one_tap = [&](ProgramBuilder& b) {
    Value w = claim.constant(b);
    for (std::size_t k = 0; k < d; ++k) w = b.slice(w, static_cast<std::int64_t>(k + 2), 0, 1);
    return w;
  };
  ProgramBuilder& a = claim.after;
  std::int64_t taps = 1;
  for (const std::int64_t k : c.kernel) taps *= k;
  const Value mean = a.op("AveragePool", {claim.x()},
                          with({{"kernel_shape", c.kernel},
                                {"strides", c.strides},
                                {"pads", c.pads},
                                {"count_include_pad", std::int64_t{1}}}));
  const Value count = a.constant(Tensor::of(ElementType::Float, {}, std::vector{static_cast<float>(taps)}));
  const Value w = a.op("Mul", {one_tap(a), count});
  Convolution small = c;
  small.kernel = small.strides = small.dilations = Extents(d, 1);
  small.pads = Extents(2 * d, 0);
  std::vector<Value> inputs{mean, w};
  if (p.bias.exists()) inputs.push_back(claim.bias());
  const Value y = a.op("Conv", inputs, attributes_of(small));
  const Value stated = claim.fact.op("Expand", {one_tap(claim.fact), claim.fact.integers(p.sizes)});
  return claim.finish(fmt::format("{} of means", label(site.node(p.id))), y, stated);
}

// w[.., i, j] = u[.., i] · v[.., j], each channel by itself: rows, then columns.
std::optional<Proposal> as_rows_and_columns(const Site& site, const ProductSum& p, const Convolution& c,
                                            const ConstantStructure::Product& product) {
  StructureClaim claim(site, p);
  ProgramBuilder &a = claim.after, &f = claim.fact;
  Convolution rows = c, columns = c;
  rows.kernel[1] = rows.strides[1] = rows.dilations[1] = 1;
  rows.pads[1] = rows.pads[3] = 0;
  columns.kernel[0] = columns.strides[0] = columns.dilations[0] = 1;
  columns.pads[0] = columns.pads[2] = 0;
  columns.groups = c.channels;
  const Value half = a.op("Conv", {claim.x(), a.constant(product.column)}, attributes_of(rows));
  std::vector<Value> inputs{half, a.constant(product.row)};
  if (p.bias.exists()) inputs.push_back(claim.bias());
  const Value stated = f.op("Mul", {f.constant(product.column), f.constant(product.row)});
  return claim.finish(fmt::format("{} by rows and columns", label(site.node(p.id))),
                      a.op("Conv", inputs, attributes_of(columns)), stated);
}

// Single channels, each by itself, times 1.
bool is_unit(const Convolution& c, const Tensor& w) {
  const bool is_pointwise = std::ranges::all_of(c.kernel, [](std::int64_t k) { return k == 1; }) &&
                            std::ranges::all_of(c.strides, [](std::int64_t s) { return s == 1; }) &&
                            std::ranges::all_of(c.pads, [](std::int64_t p) { return p == 0; });
  return is_pointwise && c.w[1] == 1 && c.groups == c.channels && w.is_uniform() && w.as<float>()[0] == 1;
}

// w[k, n] = taps[k - n - first], along the last axis: a convolution of rows.
std::optional<Proposal> as_rows(const Site& site, const ProductSum& p, const ConstantStructure::Band& band) {
  const std::size_t k = *p.only(Kind::Contracted), n = *p.only(Kind::Free);
  const std::int64_t rows = p.sizes[k], columns = p.sizes[n];
  const auto taps = static_cast<std::int64_t>(band.taps.size());
  const Dims& shape = *site.inference.of(p.x).shape;
  if (static_cast<std::size_t>(p.axes[k].x) + 1 != shape.size() || p.sizes.size() != 2) return std::nullopt;
  const Extents pads{-band.first, columns - rows + taps - 1 + band.first};
  if (pads[0] < 0 || pads[1] < 0) return std::nullopt;  // zero slices, which are cut off first
  StructureClaim claim(site, p);
  ProgramBuilder &a = claim.after, &f = claim.fact;
  const Tensor kernel = Tensor::of(ElementType::Float, {1, 1, taps}, band.taps);
  const Value apart = a.op("Conv", {a.reshape(claim.x(), {-1, 1, rows}), a.constant(kernel)},
                           with({{"kernel_shape", Extents{taps}}, {"pads", pads}}));
  const Value y = with_rows_of(a, apart, claim.x(), shape, columns);
  // The matrix, turned: its rows one after the other repeat with a period that is one longer than a row.
  const std::int64_t period = rows + 1, begin = (band.first + period) % period;
  Value line = f.reshape(f.constant(kernel), {taps});
  if (begin + taps <= period) {
    line = f.op("Pad", {line, f.integers({begin, period - begin - taps})});
  } else {
    const Value front = f.slice(line, 0, period - begin, taps), back = f.slice(line, 0, 0, period - begin);
    line = f.concat({f.op("Pad", {front, f.integers({0, period - taps})}), back}, 0);
  }
  line = f.slice(f.op("Tile", {line, f.integers({columns})}), 0, 0, columns * rows);
  Value stated = f.reshape(line, {columns, rows});
  if (k < n) stated = f.transpose(stated, {1, 0});
  return claim.finish(fmt::format("{} is a band of {} taps", label(site.node(p.id)), taps),
                      claim.with_bias(y), stated);
}

}  // namespace

void propose_band(const Site& site, const ProductSum& product, const ConstantStructure& structure,
                  Proposals& out) {
  if (!product.is_matrix || !structure.has_zeros()) return;
  const auto band = structure.band(*product.only(Kind::Contracted), *product.only(Kind::Free));
  if (band) out.add(as_rows(site, product, *band));
}

void propose_kernels(const Site& site, const ProductSum& product, const ConstantStructure& structure,
                     Proposals& out) {
  const auto c = convolution_at(site, product.id);
  if (!c) return;
  bool is_even = true, is_kernel = false;
  for (std::size_t d = 2; d < c->w.size(); ++d) {
    is_even = is_even && (c->w[d] == 1 || structure.axis(d).times == c->w[d]);
    is_kernel = is_kernel || c->w[d] > 1;
  }
  if (is_even && is_kernel) out.add(as_mean(site, product, *c));
  if (is_unit(*c, structure.tensor())) {
    StructureClaim claim(site, product);
    out.add(claim.finish(fmt::format("{} changes nothing", label(site.node(product.id))),
                         claim.with_bias(claim.x()),
                         claim.fact.op("Identity", {claim.constant(claim.fact)})));
    return;
  }
  if (!is_two_dimensional(*c) || c->w[1] != 1) return;
  if (const auto factors = structure.product()) out.add(as_rows_and_columns(site, product, *c, *factors));
}

}  // namespace isomer
