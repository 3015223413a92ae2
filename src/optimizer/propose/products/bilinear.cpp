// Convolutions with fewer multiplications: Winograd's minimal filtering F(m, 3), m outputs of a filter of
// three taps from m + 2 products, along rows only or along both axes, in plain operators (Lavin and Gray,
// "Fast Algorithms for Convolutional Neural Networks", 2015). Only measuring shows the cost of the transforms
// and the form that a runtime runs fastest; the float error of F(4, 3) is larger than the direct form's.
#include <fmt/format.h>

#include <algorithm>

#include "optimizer/facts/convolution.h"
#include "optimizer/propose/proposer.h"

namespace isomer {
namespace {

// F(m, 3): y = out · ((weights · w / denominator) ∘ (in · x)), element by element in the middle. Rows 1 and
// 2, 3 and 4 of `in` belong to the points α and -α: they differ in the sign of their odd columns.
struct Filtering {
  std::int64_t outputs = 0;
  std::vector<std::vector<std::int64_t>> in, weights, out;
  std::int64_t denominator = 1;  // whole numbers over it: 1/6 is no float
  std::int64_t products() const { return outputs + 2; }
};

const std::vector<Filtering>& filterings() {
  static const std::vector<Filtering> list{
      {.outputs = 2,
       .in = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, -1, 0, 1}},
       .weights = {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}},
       .out = {{1, 1, 1, 0}, {0, 1, -1, 1}},
       .denominator = 2},
      {.outputs = 4,
       .in = {{4, 0, -5, 0, 1, 0},
              {0, -4, -4, 1, 1, 0},
              {0, 4, -4, -1, 1, 0},
              {0, -2, -1, 2, 1, 0},
              {0, 2, -1, -2, 1, 0},
              {0, 4, 0, -5, 0, 1}},
       .weights = {{6, 0, 0}, {-4, -4, -4}, {-4, 4, -4}, {1, 2, 4}, {1, -2, 4}, {0, 0, 24}},
       .out = {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}},
       .denominator = 24},
  };
  return list;
}

constexpr std::int64_t kTaps = 3;
// On ONNX Runtime every form lost at 64 channels (0.4 to 0.9) and the first gain was at 128; nothing between
// was measured.
constexpr std::int64_t kLeastChannels = 96, kLeastSize = 8;

// A convolution with 3×3 taps and stride 1.
struct DenseConv : Convolution {
  Extents in, y;                   // [batch, channels or outputs, rows, columns]
  std::optional<NodeId> function;  // of the result alone
  Value end;
};

std::optional<DenseConv> dense_conv_at(const Site& site, NodeId id, bool any_size) {
  const auto conv = convolution_at(site, id);
  if (!conv) return std::nullopt;
  const auto x = site.concrete_sizes(conv->x), y = site.concrete_sizes({id, 0});
  const Extents ones(2, 1);
  if (!x || !y || conv->kernel != Extents(2, kTaps) || conv->strides != ones || conv->dilations != ones ||
      conv->groups != 1 || site.inference.of(conv->weights).type != ElementType::Float)
    return std::nullopt;
  if (!any_size &&
      (std::min(conv->w[0], conv->w[1]) < kLeastChannels || std::min((*y)[2], (*y)[3]) < kLeastSize))
    return std::nullopt;
  DenseConv out{*conv, *x, *y, std::nullopt, {id, 0}};
  if (const auto next = site.only_reader(out.end);
      next && site.node(*next).inputs.size() == 1 && is_pointwise(site, *next)) {
    out.function = next;
    out.end = {*next, 0};
  }
  return out;
}

Tensor matrix(const Extents& shape, const std::vector<float>& values) {
  return Tensor::of(ElementType::Float, shape, values);
}

// a ⊗ a: how both axes are transformed at once.
std::vector<float> both_ways(const std::vector<std::vector<std::int64_t>>& a) {
  std::vector<float> out;
  for (const auto& i : a)
    for (const auto& j : a)
      for (const std::int64_t u : i)
        for (const std::int64_t v : j) out.push_back(static_cast<float>(u * v));
  return out;
}

class Filtered {
 public:
  Filtered(const Site& site, const DenseConv& conv, const Filtering& f)
      : site_(site), conv_(conv), f_(f), b_(site.graph, site.name(conv.end)) {}

  // Rows in m phases; each product of the filtering is a convolution of one row of taps.
  std::optional<Proposal> along_rows() {
    const std::int64_t m = f_.outputs, count = tiles(2);
    Value x = input(conv_.x);
    // As many rows as the last tile reads.
    const std::int64_t bottom = conv_.pads[2] + count * m - conv_.y[2];
    x = b_.op("Pad", {x, b_.integers({0, 0, conv_.pads[0], 0, 0, 0, bottom, 0})});
    std::vector<Value> rows;
    for (std::int64_t k = 0; k < f_.products(); ++k)
      rows.push_back(b_.op("Slice", {x, b_.integers({k}), b_.integers({k + m * (count - 1) + 1}),
                                     b_.integers({2}), b_.integers({m})}));
    std::vector<Value> taps;
    for (std::int64_t k = 0; k < kTaps; ++k) taps.push_back(b_.slice(input(conv_.weights), 2, k, k + 1));
    const std::vector<Value> seen = transformed(rows);
    std::vector<Value> products;
    for (std::size_t k = 0; k < seen.size(); ++k) {
      std::vector<Value> inputs{seen[k], divided(combination(f_.weights[k], taps), f_.denominator)};
      // Product 1 is in every output once: it brings the bias.
      if (k == 1 && conv_.bias.exists()) inputs.push_back(input(conv_.bias));
      products.push_back(b_.op("Conv", inputs,
                               with({{"kernel_shape", Extents{1, kTaps}},
                                     {"pads", Extents{0, conv_.pads[1], 0, conv_.pads[3]}}})));
    }
    std::vector<Value> phases;
    for (const Value& y : transformed_back(products)) phases.push_back(b_.unsqueeze(function_of(y), {3}));
    Value y = b_.reshape(b_.concat(phases, 3), {conv_.y[0], conv_.y[1], count * m, conv_.y[3]});
    if (count * m != conv_.y[2]) y = b_.slice(y, 2, 0, conv_.y[2]);
    return result(y, "along rows");
  }

  // Extents that follow from others are left to the runtime: so the witness can make the rest smaller.
  // Tiles of (m + 2)² values: one convolution with constant kernels, channels as a batch; one product of
  // matrices for each of a tile's values; one product back.
  std::optional<Proposal> along_both() {
    const std::int64_t m = f_.outputs, t = f_.products(), down = tiles(2), across = tiles(3);
    const std::int64_t batch = conv_.y[0], outputs = conv_.w[0], channels = conv_.w[1];
    Value v = b_.reshape(input(conv_.x), {-1, 1, conv_.in[2], conv_.in[3]});
    v = b_.op("Conv", {v, b_.constant(matrix({t * t, 1, t, t}, both_ways(f_.in)))},
              with({{"kernel_shape", Extents{t, t}},
                    {"strides", Extents{m, m}},
                    {"pads", Extents{conv_.pads[0], conv_.pads[1], conv_.pads[2] + down * m - conv_.y[2],
                                     conv_.pads[3] + across * m - conv_.y[3]}}}));
    v = b_.transpose(b_.reshape(v, {batch, channels, t * t, -1}), {0, 2, 1, 3});
    Value u = b_.reshape(b_.transpose(input(conv_.weights), {2, 3, 0, 1}), {kTaps * kTaps, -1});
    u = b_.op("MatMul", {b_.constant(matrix({t * t, kTaps * kTaps}, both_ways(f_.weights))), u});
    u = b_.reshape(divided(u, f_.denominator * f_.denominator), {t * t, outputs, -1});
    const Value p = b_.transpose(b_.op("MatMul", {u, v}), {0, 2, 1, 3});
    Value y = b_.op("MatMul", {b_.constant(matrix({m * m, t * t}, both_ways(f_.out))), p});
    y = b_.op("DepthToSpace", {b_.reshape(y, {batch, -1, down, across})},
              with({{"blocksize", m}, {"mode", std::string("CRD")}}));
    if (down * m != conv_.y[2]) y = b_.slice(y, 2, 0, conv_.y[2]);
    if (across * m != conv_.y[3]) y = b_.slice(y, 3, 0, conv_.y[3]);
    if (conv_.bias.exists()) y = b_.op("Add", {y, b_.reshape(input(conv_.bias), {1, outputs, 1, 1})});
    return result(function_of(y), "along both axes");
  }

 private:
  Value input(Value v) { return b_.input(site_.name(v)); }
  std::int64_t tiles(std::size_t axis) const { return (conv_.y[axis] + f_.outputs - 1) / f_.outputs; }
  Value number(std::int64_t value) { return b_.constant(matrix({}, {static_cast<float>(value)})); }
  Value times(Value v, std::int64_t by) { return by == 1 ? v : b_.op("Mul", {v, number(by)}); }
  Value divided(Value v, std::int64_t by) { return by == 1 ? v : b_.op("Div", {v, number(by)}); }
  Value function_of(Value v) { return conv_.function ? b_.copy(site_.node(*conv_.function), {v}) : v; }

  // Σ factor · value, positive ones first; one that all have in common is taken out.
  Value combination(const std::vector<std::int64_t>& factors, const std::vector<Value>& values) {
    std::vector<std::pair<std::int64_t, Value>> terms;
    for (std::size_t k = 0; k < factors.size(); ++k)
      if (factors[k] != 0) terms.emplace_back(factors[k], values[k]);
    std::ranges::stable_sort(terms,
                             [](const auto& p, const auto& q) { return (p.first > 0) > (q.first > 0); });
    const std::int64_t size = std::abs(terms[0].first);
    const bool is_common =
        std::ranges::all_of(terms, [&](const auto& term) { return std::abs(term.first) == size; });
    const auto scaled = [&](const auto& term) {
      return is_common ? term.second : times(term.second, std::abs(term.first));
    };
    Value sum = scaled(terms[0]);
    const bool is_negative = terms[0].first < 0;  // then all are
    for (std::size_t k = 1; k < terms.size(); ++k)
      sum = b_.op(terms[k].first > 0 || is_negative ? "Add" : "Sub", {sum, scaled(terms[k])});
    if (is_common) sum = times(sum, size);
    return is_negative ? b_.op("Neg", {sum}) : sum;
  }

  // Even and odd columns apart: two rows of the transform are their sum and difference.
  std::vector<Value> transformed(const std::vector<Value>& x) {
    std::vector<Value> out{combination(f_.in.front(), x)};
    for (std::size_t k = 1; k + 1 < f_.in.size(); k += 2) {
      std::vector<std::int64_t> even = f_.in[k], odd = f_.in[k];
      for (std::size_t i = 0; i < even.size(); ++i) (i % 2 == 0 ? odd : even)[i] = 0;
      const Value e = combination(even, x), o = combination(odd, x);
      out.push_back(b_.op("Add", {e, o}));
      out.push_back(b_.op("Sub", {e, o}));
    }
    out.push_back(combination(f_.in.back(), x));
    return out;
  }

  // The way back: sums of both points for even outputs, differences for odd ones.
  std::vector<Value> transformed_back(const std::vector<Value>& products) {
    std::vector<Value> sums, differences;
    for (std::size_t k = 1; k + 1 < products.size(); k += 2) {
      sums.push_back(b_.op("Add", {products[k], products[k + 1]}));
      differences.push_back(b_.op("Sub", {products[k], products[k + 1]}));
    }
    std::vector<Value> out;
    for (std::size_t i = 0; i < f_.out.size(); ++i) {
      std::vector<std::int64_t> factors;
      for (std::size_t k = 1; k + 1 < products.size(); k += 2) factors.push_back(f_.out[i][k]);
      Value y = combination(factors, i % 2 == 0 ? sums : differences);
      // Last, so that a runtime can add while it convolves.
      if (f_.out[i].front() != 0) y = b_.op("Add", {products.front(), y});
      if (f_.out[i].back() != 0) y = b_.op("Add", {products.back(), y});
      out.push_back(y);
    }
    return out;
  }

  std::optional<Proposal> result(Value y, const std::string& how) {
    auto proposal =
        propose(site_, "bilinear",
                fmt::format("{} ({} to {} channels, {}x{}) as F({},{}) {}", label(site_.node(conv_.id)),
                            conv_.w[1], conv_.w[0], conv_.y[2], conv_.y[3], f_.outputs, kTaps, how),
                b_, {conv_.end}, {y});
    // Neither its transforms' price nor its error is known before it runs.
    if (proposal) {
      proposal->gain = 0;
      proposal->rounds_otherwise = true;
    }
    return proposal;
  }

  const Site& site_;
  const DenseConv& conv_;
  const Filtering& f_;
  ProgramBuilder b_;
};

Proposals propose_bilinear(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  Proposals out;
  const Site site(graph, inference, *options.machine);
  // Pad and Slice take integers as inputs, DepthToSpace has a mode.
  if (graph.opset("") < 11) return out;
  for (const NodeId id : graph.order()) {
    const auto conv = dense_conv_at(site, id, options.any_price);
    if (!conv) continue;
    for (const Filtering& f : filterings()) {
      out.add(Filtered(site, *conv, f).along_rows());
      out.add(Filtered(site, *conv, f).along_both());
    }
  }
  return out;
}

}  // namespace

constinit const Proposer kBilinear{
    .name = "bilinear",
    .title = "fewer multiplications",
    .law = "Y = Aᵀ[(G g Gᵀ) ⊙ (Bᵀ d B)]A",
    .finds =
        "Computes dense 3×3 convolutions with fewer multiplications (Winograd), where the "
        "rounding error, which is another one, is measured and allowed.",
    .propose = propose_bilinear,
    .summary = "3×3 convolution with fewer multiplications (Winograd)",
};

}  // namespace isomer
