#include "model/ops/shared/resampling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace isomer {
namespace {

bool is_power_of_two(std::int64_t n) { return n > 0 && std::has_single_bit(static_cast<std::uint64_t>(n)); }

// The coordinate that p comes from is (a·p + b) / c.
struct Coordinate {
  std::int64_t a = 0, b = 0, c = 1;
};

std::optional<Coordinate> coordinate(const std::string& mode, const ResampledAxis& axis, const Dim& extent) {
  const std::int64_t n = axis.numerator, d = axis.denominator;  // 1/scale = d/n
  const Coordinate half_pixel{.a = checked_multiply(2, d), .b = d - n, .c = checked_multiply(2, n)};
  if (mode == "half_pixel") return half_pixel;
  if (mode == "asymmetric") return Coordinate{.a = d, .b = 0, .c = n};
  if (mode == "tf_half_pixel_for_nn") return Coordinate{.a = half_pixel.a, .b = d, .c = half_pixel.c};
  if (mode == "pytorch_half_pixel") {
    const auto is_longer = axis.output.at_least(2);
    if (!is_longer) return std::nullopt;
    return *is_longer ? half_pixel : Coordinate{};
  }
  if (mode == "half_pixel_symmetric") {  // shifted by (extent - output/scale) / 2
    const Dim shift = extent * Dim(n) - axis.output * Dim(d);
    if (!shift.is_concrete()) return std::nullopt;
    return Coordinate{.a = half_pixel.a, .b = checked_add(half_pixel.b, shift.concrete()), .c = half_pixel.c};
  }
  // Where the scale alone doesn't give the output's extent, ONNX divides by scale · extent - 1 and the
  // runtime by output - 1.
  if (mode == "align_corners" && extent.is_concrete() && axis.output.is_concrete() &&
      Dim(n) * extent == Dim(d) * axis.output) {
    if (axis.output.is(1)) return Coordinate{};
    return Coordinate{.a = extent.concrete() - 1, .b = 0, .c = axis.output.concrete() - 1};
  }
  return std::nullopt;
}

// The coordinate rounded as nearest_mode says is floor((a·p + b) / c) of these.
std::optional<Coordinate> rounded(const std::string& mode, const ResampledAxis& axis, const Coordinate& x) {
  const std::int64_t a = checked_multiply(2, x.a), b = checked_multiply(2, x.b), c = checked_multiply(2, x.c);
  const Coordinate down = x, up{.a = x.a, .b = checked_add(x.b, x.c - 1), .c = x.c};
  if (mode == "floor") return down;
  if (mode == "ceil") return up;
  if (mode == "round_prefer_floor") return Coordinate{.a = a, .b = checked_add(b, x.c - 1), .c = c};
  if (mode == "round_prefer_ceil") return Coordinate{.a = a, .b = checked_add(b, x.c), .c = c};
  if (mode.empty()) return axis.numerator < axis.denominator ? up : down;
  return std::nullopt;
}

// onnxruntime computes coordinates in float, and rounds a number within 1e-6 of a half as a half.
std::int64_t nearest_in_float(const Resampling& r, const ResampledAxis& axis, std::int64_t extent,
                              std::int64_t position) {
  const float p = static_cast<float>(position), in = static_cast<float>(extent),
              out = static_cast<float>(axis.output.concrete());
  float x = (p + 0.5f) / axis.scale - 0.5f;
  if (r.coordinates == "asymmetric") x = p / axis.scale;
  else if (r.coordinates == "tf_half_pixel_for_nn") x = (p + 0.5f) / axis.scale;
  else if (r.coordinates == "pytorch_half_pixel") x = out > 1 ? x : 0;
  else if (r.coordinates == "align_corners") x = out == 1 ? 0 : p * (in - 1) / (out - 1);
  else if (r.coordinates == "half_pixel_symmetric")
    x = static_cast<float>(in / 2 * (1 - out / (axis.scale * in)) + (p + 0.5) / axis.scale - 0.5);
  const bool is_half = std::abs(x - std::floor(x) - 0.5f) <= 1e-6f;
  float y = std::round(x);
  if (r.nearest == "floor" || (is_half && r.nearest == "round_prefer_floor") ||
      (r.nearest.empty() && axis.scale >= 1))
    y = std::floor(x);
  else if (r.nearest == "ceil" || is_half || r.nearest.empty()) y = std::ceil(x);
  return std::clamp(static_cast<std::int64_t>(y), std::int64_t{0}, extent - 1);
}

constexpr std::int64_t kLongestChecked = 1 << 20;  // positions of one axis

// Whether the exact coordinates and those in float take the same elements. Powers of two are exact in float.
bool agrees_in_float(const Resampling& r, const ResampledAxis& axis, const Dim& extent,
                     const Coordinate& nearest) {
  if (!extent.is_concrete() || !axis.output.is_concrete()) return true;
  if (axis.output.concrete() > kLongestChecked) return false;
  for (std::int64_t p = 0; p < axis.output.concrete(); ++p) {
    const std::int64_t exact = floor_div(checked_add(checked_multiply(nearest.a, p), nearest.b), nearest.c);
    if (std::clamp(exact, std::int64_t{0}, extent.concrete() - 1) !=
        nearest_in_float(r, axis, extent.concrete(), p))
      return false;
  }
  return true;
}

using Along =
    std::function<Expr(const Index&)>;  // the input at a position of one axis, the other axes as they are

Expr nearest_element(const Index& i, const Dim& extent, const Along& x) {
  std::vector<std::pair<Domain, Expr>> clamped;
  const auto range = i.range();
  if (!range || range->low.at_least(0) != true) clamped.emplace_back(Domain{Index(-1) - i}, x(0));
  if (!range || (extent - Dim(1)).at_least(range->high) != true)
    clamped.emplace_back(Domain{i - Index(extent)}, x(Index(extent - Dim(1))));
  return clamped.empty() ? x(i) : cases(std::move(clamped), x(i));
}

Expr between_elements(const Index& numerator, std::int64_t c, const Dim& extent, const Along& x) {
  const Index i = Index::floor(numerator, c);
  const Expr low = x(i), high = x(i + Index(1));
  const Expr weight = index_number(Index::mod(numerator, c), low.type()) / static_cast<double>(c);
  return cases({{Domain{Index(-1) - numerator}, x(0)},
                {Domain{numerator - Index(Dim(c) * (extent - Dim(1)))}, x(Index(extent - Dim(1)))}},
               (1.0 - weight) * low + weight * high);
}

// Keys' spline with parameter a through four elements; those beyond the edge are the edge's, or don't count.
//   w(t) = (a + 2)|t|^3 - (a + 3)|t|^2 + 1 for |t| <= 1,  a|t|^3 - 5a|t|^2 + 8a|t| - 4a for |t| <= 2
Expr on_spline(const Index& numerator, std::int64_t c, const Dim& extent, const Resampling& r,
               const Along& x) {
  const double a = *r.cubic;
  const Index i = Index::floor(numerator, c);
  const Expr t = index_number(Index::mod(numerator, c), x(0).type()) / static_cast<double>(c);
  const auto near = [&](const Expr& d) { return (d * (a + 2) - (a + 3)) * d * d + 1; };
  const auto far = [&](const Expr& d) { return ((d * a - 5 * a) * d + 8 * a) * d - 4 * a; };
  const Expr weights[] = {far(t + 1), near(t), near(1.0 - t), far(2.0 - t)};
  Expr all, total;
  for (int k = -1; k <= 2; ++k) {
    const Index at = i + Index(k);
    Expr weight = weights[k + 1];
    if (r.inside_only) weight = cases({{between(0, at, Index(extent)), weight}}, number(weight.type(), 0));
    const Expr value = weight * nearest_element(at, extent, x);
    all = all ? all + value : value;
    total = total ? total + weight : weight;
  }
  return r.inside_only ? all / total : all;  // else they add up to 1
}

std::optional<Definition> refuse_axis(const Resampling& r, const ResampledAxis& axis, const Dim& extent) {
  if (extent.is(0) || axis.output.is(0)) return opaque("an extent of 0");
  // The runtime then copies, if it is so on all axes; the coordinates say otherwise.
  if (axis.output == extent) return opaque("a scale that leaves the extent as it is");
  if (!extent.is_concrete() && !(is_power_of_two(axis.numerator) && is_power_of_two(axis.denominator)))
    return opaque("a symbolic extent, and a scale that is not a power of two");
  const auto x = coordinate(r.coordinates, axis, extent);
  if (!x) return opaque("coordinate mode " + r.coordinates + " for these extents");
  if (r.is_linear || r.cubic) return std::nullopt;
  const auto nearest = rounded(r.nearest, axis, *x);
  if (!nearest) return invalid("no such nearest_mode", "nearest_mode");
  if (!agrees_in_float(r, axis, extent, *nearest))
    return opaque("rounding of coordinates decides which element is nearest");
  return std::nullopt;
}

}  // namespace

std::variant<ResampledAxis, Definition> scaled_axis(const Dim& extent, float scale) {
  if (!std::isfinite(scale) || !(scale > 0)) return invalid("a scale is not positive", "scales");
  int exponent = 0;
  const float mantissa = std::frexp(scale, &exponent);
  const auto whole =
      static_cast<std::int64_t>(std::ldexp(mantissa, 24));  // scale = whole · 2^(exponent - 24), exactly
  const int shift = exponent - 24 + std::countr_zero(static_cast<std::uint64_t>(whole));
  if (std::abs(shift) > 30) return opaque("a scale of an extreme size");
  ResampledAxis axis{.output = extent, .scale = scale};
  axis.numerator = (whole >> std::countr_zero(static_cast<std::uint64_t>(whole))) << std::max(shift, 0);
  axis.denominator = std::int64_t{1} << std::max(-shift, 0);
  if (extent.is_concrete())
    axis.output = static_cast<std::int64_t>(std::floor(scale * static_cast<float>(extent.concrete())));
  else axis.output = Dim::floor(extent * Dim(axis.numerator), axis.denominator);
  return axis;
}

std::variant<ResampledAxis, Definition> sized_axis(const Dim& extent, const Dim& size) {
  ResampledAxis axis{.output = size};
  if (size == extent) return axis;
  if (size.at_least(0) == false) return invalid("a size is negative", "sizes");
  if (extent.is(0) || size.is(0)) return opaque("an extent of 0");
  if (extent.is_concrete() && size.is_concrete()) {
    const std::int64_t divisor = std::gcd(size.concrete(), extent.concrete());
    axis.numerator = size.concrete() / divisor;
    axis.denominator = extent.concrete() / divisor;
    axis.scale = static_cast<float>(size.concrete()) / static_cast<float>(extent.concrete());
    return axis;
  }
  const auto up = Dim::exact_quotient(size, extent), down = Dim::exact_quotient(extent, size);
  if (up && up->is_concrete()) axis.numerator = up->concrete();
  else if (down && down->is_concrete()) axis.denominator = down->concrete();
  else return opaque("a symbolic scale");
  axis.scale = static_cast<float>(axis.numerator) / static_cast<float>(axis.denominator);
  return axis;
}

Definition resample(const Call& call, const Resampling& r) {
  if ((r.is_linear || r.cubic) && !is_float(call.type(0))) return opaque("interpolation of integers");
  auto f = call.formula();
  auto x = f.input(0);
  std::vector<std::size_t> resampled;
  for (std::size_t i = 0; i < r.axes.size(); ++i) {
    if (r.axes[i].is_kept() || (x.shape()[i].is(1) && r.axes[i].output.is(1))) continue;
    if (auto refused = refuse_axis(r, r.axes[i], x.shape()[i])) return *refused;
    resampled.push_back(i);
  }
  if (resampled.empty()) return identity(call);
  for (const std::size_t i :
       resampled) {  // one stage per axis: interpolation is separable, and clamping multiplies cases
    const Dim extent = x.shape()[i];
    Dims shape = x.shape();
    shape[i] = r.axes[i].output;
    const auto p = f.axes(shape);
    const Along along = [&](const Index& position) {
      std::vector<Index> at = to_indices(p);
      at[i] = position;
      return x.at(at);
    };
    const auto at = *coordinate(r.coordinates, r.axes[i], extent);
    const auto c = r.is_linear || r.cubic ? at : *rounded(r.nearest, r.axes[i], at);
    const Index numerator = Dim(c.a) * Index(p[i]) + Index(c.b);
    // The one element that there is; a linear weight and its complement add up to 1.
    const bool is_alone = extent.is(1) && !r.cubic;
    const Expr y = is_alone      ? along(0)
                   : r.is_linear ? between_elements(numerator, c.c, extent, along)
                   : r.cubic     ? on_spline(numerator, c.c, extent, r, along)
                                 : nearest_element(Index::floor(numerator, c.c), extent, along);
    x = i == resampled.back() ? f.output(p, y) : f.stage(p, y);
  }
  return std::move(f).finish();
}

}  // namespace isomer
