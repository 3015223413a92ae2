// relax: the steps of which a collapse consists, one at a time, so that a search that accepts a loss on its
// way can find what no single step does (Jia et al., "Optimizing DNN computation with relaxed graph
// substitutions", 2019).
#include <fmt/format.h>

#include "optimizer/facts/convolution.h"

namespace isomer {
namespace {

Value read(ProgramBuilder& b, const Site& site, Value v) { return b.input(site.name(v)); }

// What a batch normalization multiplies each channel with, and adds.
struct Scaling {
  Value factor, offset;
};
Scaling scaling(ProgramBuilder& b, const Site& site, const Node& norm) {
  const Value scale = read(b, site, norm.inputs[1]), shift = read(b, site, norm.inputs[2]),
              mean = read(b, site, norm.inputs[3]), variance = read(b, site, norm.inputs[4]);
  const auto* epsilon = norm.attributes.find_as<float>("epsilon");
  const Value small =
      b.constant(Tensor::of(ElementType::Float, {}, std::vector<float>{epsilon ? *epsilon : 1e-5f}));
  const Value factor = b.op("Div", {scale, b.op("Sqrt", {b.op("Add", {variance, small})})});
  return {factor, b.op("Sub", {shift, b.op("Mul", {mean, factor})})};
}

bool is_plain_norm(const Site& site, NodeId id) {
  if (!site.is(id, "BatchNormalization") || site.node(id).outputs.size() != 1) return false;
  const Node& node = site.node(id);
  if (site.inference.of(node.inputs[0]).type != ElementType::Float || site.rank(node.inputs[0]) < 3)
    return false;
  for (std::size_t k = 1; k < node.inputs.size(); ++k)
    if (!site.is_constant(node.inputs[k])) return false;
  return true;
}

// A normalization behind a convolution goes into its weights; behind anything else it is a convolution of its
// own.
std::optional<Proposal> norm_as_convolution(const Site& site, NodeId id) {
  const Node& node = site.node(id);
  const Value x = node.inputs[0];
  ProgramBuilder b(site.graph, site.name({id, 0}));
  const Scaling s = scaling(b, site, node);
  const std::size_t rank = site.rank(x);
  const auto sizes = site.sizes(x);
  if (!sizes) return std::nullopt;
  const std::int64_t channels = (*sizes)[1];
  Extents per_channel(rank, 1);
  per_channel[0] = channels;
  const Value factor = b.reshape(s.factor, per_channel);
  const auto conv = site.only_reader(x) ? convolution_at(site, x.node) : std::nullopt;
  if (conv) {
    const Value weights = b.op("Mul", {read(b, site, conv->weights), factor});
    const Value bias = conv->bias.exists()
                           ? b.op("Add", {b.op("Mul", {read(b, site, conv->bias), s.factor}), s.offset})
                           : s.offset;
    const Value y = b.op("Conv", {read(b, site, conv->x), weights, bias}, attributes_of(*conv));
    return propose(site, "relax", fmt::format("{} in the weights before it", label(node)), b, {{id, 0}}, {y});
  }
  const Convolution own{.id = id,
                        .x = x,
                        .weights = {},
                        .w = {},
                        .kernel = Extents(rank - 2, 1),
                        .strides = Extents(rank - 2, 1),
                        .dilations = Extents(rank - 2, 1),
                        .pads = Extents(2 * (rank - 2), 0),
                        .channels = channels,
                        .groups = channels};
  const Value y = b.op("Conv", {read(b, site, x), factor, s.offset}, attributes_of(own));
  return propose(site, "relax", fmt::format("{} as a convolution", label(node)), b, {{id, 0}}, {y});
}

// The weights with zeros around them: as large as those of another convolution of the same input that looks
// at more.
std::optional<Proposal> enlarged(const Site& site, const Convolution& small, const Convolution& large) {
  if (small.strides != large.strides || small.dilations != large.dilations || small.groups != large.groups ||
      small.kernel == large.kernel || small.kernel.size() != large.kernel.size())
    return std::nullopt;
  const std::size_t d = small.kernel.size();
  Extents around(2 * (d + 2), 0);
  for (std::size_t k = 0; k < d; ++k) {
    const std::int64_t before = large.pads[k] - small.pads[k], after = large.pads[d + k] - small.pads[d + k];
    const std::int64_t step = small.dilations[k];
    const bool fits = before >= 0 && after >= 0 && before % step == 0 && after % step == 0 &&
                      small.kernel[k] + (before + after) / step == large.kernel[k];
    if (!fits) return std::nullopt;
    around[2 + k] = before / step;
    around[d + 4 + k] = after / step;
  }
  ProgramBuilder b(site.graph, site.name({small.id, 0}));
  std::vector<Value> inputs{read(b, site, small.x),
                            b.op("Pad", {read(b, site, small.weights), b.integers(around)})};
  if (small.bias.exists()) inputs.push_back(read(b, site, small.bias));
  Convolution grown = small;
  grown.kernel = large.kernel;
  grown.pads = large.pads;
  const Value y = b.op("Conv", inputs, attributes_of(grown));
  return propose(site, "relax",
                 fmt::format("the kernel of {} with zeros around it", label(site.node(small.id))), b,
                 {{small.id, 0}}, {y});
}

// Two equal convolutions of one value, added: their weights are added.
std::optional<Proposal> added(const Site& site, NodeId sum) {
  const Node& node = site.node(sum);
  std::vector<Convolution> both;
  for (const Value& v : node.inputs)
    if (const auto conv = v.exists() && site.only_reader(v) ? convolution_at(site, v.node) : std::nullopt)
      both.push_back(*conv);
  if (both.size() != 2 || both[0].x != both[1].x || both[0].kernel != both[1].kernel ||
      both[0].channels != both[1].channels || both[0].strides != both[1].strides ||
      both[0].dilations != both[1].dilations || both[0].pads != both[1].pads ||
      both[0].groups != both[1].groups)
    return std::nullopt;
  ProgramBuilder b(site.graph, site.name({sum, 0}));
  const auto sum_of = [&](Value u, Value v) {
    if (!u.exists() || !v.exists()) return u.exists() ? read(b, site, u) : v.exists() ? read(b, site, v) : v;
    return b.op("Add", {read(b, site, u), read(b, site, v)});
  };
  std::vector<Value> inputs{read(b, site, both[0].x), sum_of(both[0].weights, both[1].weights)};
  if (const Value bias = sum_of(both[0].bias, both[1].bias); bias.exists()) inputs.push_back(bias);
  const Value y = b.op("Conv", inputs, attributes_of(both[0]));
  return propose(site, "relax", fmt::format("{} adds two equal convolutions", label(node)), b, {{sum, 0}},
                 {y});
}

// x1 + (x2 + x3) as (x1 + x2) + x3: brings convolutions together that sums keep apart.
std::optional<Proposal> turned(const Site& site, NodeId sum, std::size_t k) {
  const Node& node = site.node(sum);
  const auto inner = site.made_by(node.inputs[1 - k], "Add");
  if (!inner || !site.only_reader(node.inputs[1 - k])) return std::nullopt;
  const Value first = node.inputs[k];
  if (!site.made_by(first, "Conv")) return std::nullopt;
  for (const std::size_t j : {0u, 1u}) {
    const Value second = site.node(*inner).inputs[j], third = site.node(*inner).inputs[1 - j];
    const auto a = convolution_at(site, first.node);
    const auto c = site.made_by(second, "Conv") ? convolution_at(site, second.node) : std::nullopt;
    if (!a || !c || a->x != c->x) continue;
    ProgramBuilder b(site.graph, site.name({sum, 0}));
    const Value y =
        b.op("Add", {b.op("Add", {read(b, site, first), read(b, site, second)}), read(b, site, third)});
    return propose(site, "relax", fmt::format("the terms of {} in another order", label(node)), b, {{sum, 0}},
                   {y});
  }
  return std::nullopt;
}

}  // namespace

Proposals propose_relax(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  Proposals out;
  if (graph.opset("") < 11) return out;
  const Site site(graph, inference, *options.machine);
  for (const NodeId id : graph.order()) {
    if (is_plain_norm(site, id)) out.add(norm_as_convolution(site, id));
    if (site.is(id, "Add")) {
      out.add(added(site, id));
      for (const std::size_t k : {0u, 1u}) out.add(turned(site, id, k));
    }
    const auto small = convolution_at(site, id);
    if (!small) continue;
    for (const NodeId sibling : site.readers(small->x))
      if (const auto large = convolution_at(site, sibling); large && large->x == small->x)
        if (auto proposal = enlarged(site, *small, *large)) {
          out.list.push_back(std::move(*proposal));
          break;
        }
  }
  return out;
}

}  // namespace isomer
