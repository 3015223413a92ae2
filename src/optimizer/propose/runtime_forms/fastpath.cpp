// fastpath: forms that ONNX Runtime runs faster than others of the same value, whatever the analytic cost is.
// Each is a bet that the judge decides; the reason stands beside each, a guess from timings of hand-made
// variants. Which convolutions are in the blocked layout is measured, not guessed.
#include "optimizer/propose/runtime_forms/fastpath.h"

#include <fmt/format.h>

#include <algorithm>

#include "optimizer/propose/proposer.h"

namespace isomer {
namespace {

constexpr const char* kKind = "fastpath";

void keep(Proposals& out, std::optional<Proposal> p) {
  if (p) out.list.push_back(std::move(*p));
}

ProgramBuilder builder(const Site& site, NodeId id) { return {site.graph, site.name({id, 0})}; }

// A Transpose that only this node reads, which can as well follow it.
std::optional<std::vector<std::int64_t>> order_before(const Site& site, Value x) {
  const auto id = site.made_by(x, "Transpose");
  const auto order = id && site.only_reader(x)
                         ? site.node(*id).attributes.find_as<std::vector<std::int64_t>>("perm")
                         : nullptr;
  return order != nullptr ? std::optional(*order) : std::nullopt;
}

// Softmax along another axis than the last is transposed twice by its kernel; its parts are not. A Transpose
// before it follows them: what reads the result may not need it.
void softmax(const Site& site, Proposals& out) {
  for (const NodeId id : site.graph.order()) {
    if (!site.is(id, "Softmax") || site.graph.opset("") < 13) continue;
    const Value x = site.node(id).inputs[0];
    const auto sizes = site.sizes(x);
    if (!sizes) continue;
    const auto rank = static_cast<std::int64_t>(sizes->size());
    std::int64_t axis = attribute(site.node(id), "axis", std::int64_t{-1});
    if (axis < 0) axis += rank;
    if (axis == rank - 1) continue;
    ProgramBuilder b = builder(site, id);
    const auto order = order_before(site, x);
    if (order) axis = (*order)[static_cast<std::size_t>(axis)];
    const Value in = b.input(site.name(order ? site.node(x.node).inputs[0] : x));
    const Value largest = site.graph.opset("") >= 18
                              ? b.op("ReduceMax", {in, b.integers({axis})})
                              : b.op("ReduceMax", {in}, with({{"axes", std::vector<std::int64_t>{axis}}}));
    const Value e = b.op("Exp", {b.op("Sub", {in, largest})});
    Value result = b.op("Div", {e, b.op("ReduceSum", {e, b.integers({axis})})});
    if (order) result = b.transpose(result, *order);
    keep(out,
         propose(site, kKind, fmt::format("{} in its parts", label(site.node(id))), b, {{id, 0}}, {result}));
  }
}

// PRelu is not computed in the blocked layout; Relu and a depthwise convolution are.
void slopes(const Site& site, Proposals& out) {
  for (const NodeId id : site.graph.order()) {
    if (!site.is(id, "PRelu")) continue;
    const Value x = site.node(id).inputs[0], slope = site.node(id).inputs[1];
    const auto sizes = site.sizes(x), slopes = site.concrete_sizes(slope);
    if (!sizes || sizes->size() != 4 || !site.is_constant(slope) || !slopes) continue;
    const std::int64_t channels = (*sizes)[1];
    std::int64_t count = 1;
    for (const std::int64_t e : *slopes) count *= e;
    if (count != channels || slopes->size() < 3 || (*slopes)[slopes->size() - 3] != channels) continue;
    ProgramBuilder b = builder(site, id);
    const Value in = b.input(site.name(x));
    const Value weights = b.op("Neg", {b.reshape(b.input(site.name(slope)), {channels, 1, 1, 1})});
    const Value below =
        b.op("Conv", {b.op("Relu", {b.op("Neg", {in})}), weights}, with({{"group", channels}}));
    keep(out, propose(site, kKind, fmt::format("{} as a sum of two Relu", label(site.node(id))), b, {{id, 0}},
                      {b.op("Add", {b.op("Relu", {in}), below})}));
  }
}

// Groups narrower than a block are not computed in the blocked layout: several as one with zeros between.
void groups(const Site& site, Proposals& out) {
  for (const NodeId id : site.graph.order()) {
    if (!site.is(id, "Conv")) continue;
    const Node& node = site.node(id);
    const std::int64_t groups = attribute(node, "group", std::int64_t{1});
    const auto w = site.concrete_sizes(node.inputs[1]);
    if (groups == 1 || !w || !site.is_constant(node.inputs[1]) || w->size() < 3) continue;
    const std::int64_t in = (*w)[1], rows = (*w)[0] / groups;
    if (in == 1 || in >= kChannelBlock || kChannelBlock % in != 0) continue;
    const std::int64_t merged = kChannelBlock / in;
    if (groups % merged != 0 || site.is_blocked(id)) continue;
    std::int64_t taps = 1;
    for (std::size_t d = 2; d < w->size(); ++d) taps *= (*w)[d];
    ProgramBuilder b = builder(site, id);
    const Value blocks =
        b.reshape(b.input(site.name(node.inputs[1])), {groups / merged, merged, rows, 1, in, taps});
    const Value diagonal = b.reshape(b.eye(merged), {1, merged, 1, merged, 1, 1});
    Extents shape = *w;
    shape[1] = in * merged;
    std::vector<Value> inputs{b.input(site.name(node.inputs[0])),
                              b.reshape(b.op("Mul", {blocks, diagonal}), shape)};
    if (node.inputs.size() > 2 && node.inputs[2].exists())
      inputs.push_back(b.input(site.name(node.inputs[2])));
    Node wide = node;
    wide.attributes.set("group", groups / merged);
    keep(out, propose(site, kKind, fmt::format("{} groups of {} as {}", groups, label(node), groups / merged),
                      b, {{id, 0}}, {b.copy(std::move(wide), inputs)}));
  }
}

// A matrix with axes of one element in front is taken for a batch: the product is not one product.
void flat_weights(const Site& site, Proposals& out) {
  for (const NodeId id : site.graph.order()) {
    if (!site.is(id, "MatMul")) continue;
    const std::vector<Value>& in = site.node(id).inputs;
    const auto x = site.sizes(in[0]), w = site.concrete_sizes(in[1]);
    if (!x || !w || !site.is_constant(in[1]) || w->size() < 3 || x->size() < w->size()) continue;
    if (std::any_of(w->begin(), w->end() - 2, [](std::int64_t e) { return e != 1; })) continue;
    ProgramBuilder b = builder(site, id);
    const Value flat = b.reshape(b.input(site.name(in[1])), {(*w)[w->size() - 2], w->back()});
    keep(out, propose(site, kKind, fmt::format("{} with a matrix", label(site.node(id))), b, {{id, 0}},
                      {b.op("MatMul", {b.input(site.name(in[0])), flat})}));
  }
}

struct Pool {
  NodeId node;
  std::vector<std::int64_t> kernel;
};

// A maximum over a large window from that over a smaller one of the same value: all windows at once.
void chained_pools(const Site& site, Proposals& out) {
  std::map<Value, std::vector<Pool>> by_input;
  for (const NodeId id : site.graph.order()) {
    if (!site.is(id, "MaxPool") || site.node(id).outputs.size() != 1) continue;
    const Node& node = site.node(id);
    const auto kernel = attribute(node, "kernel_shape", std::vector<std::int64_t>{});
    const auto strides = attribute(node, "strides", std::vector<std::int64_t>(kernel.size(), 1));
    const auto pads = attribute(node, "pads", std::vector<std::int64_t>(2 * kernel.size(), 0));
    const auto dilations = attribute(node, "dilations", std::vector<std::int64_t>(kernel.size(), 1));
    const auto is_one = [](std::int64_t s) { return s == 1; };
    bool same_size = std::ranges::all_of(strides, is_one) && std::ranges::all_of(dilations, is_one);
    for (std::size_t d = 0; d < kernel.size(); ++d)
      same_size = same_size && kernel[d] % 2 == 1 && pads[d] == kernel[d] / 2 &&
                  pads[d + kernel.size()] == kernel[d] / 2;
    if (same_size) by_input[node.inputs[0]].push_back({id, kernel});
  }
  for (auto& [x, pools] : by_input) {
    if (pools.size() < 2) continue;
    std::ranges::stable_sort(pools, {}, &Pool::kernel);
    ProgramBuilder b = builder(site, pools[0].node);
    Value last = b.input(site.name(x));
    std::vector<std::int64_t> reach(pools[0].kernel.size(), 1);
    std::vector<Value> replaced, by;
    bool grows = true;
    for (const Pool& pool : pools) {
      std::vector<std::int64_t> kernel, pads;
      for (std::size_t d = 0; d < reach.size(); ++d) kernel.push_back(pool.kernel[d] - reach[d] + 1);
      grows = grows && std::ranges::all_of(kernel, [](std::int64_t k) { return k > 1; });
      if (!grows) break;
      for (const std::int64_t k : kernel) pads.push_back(k / 2);
      pads.insert(pads.end(), pads.begin(), pads.end());
      last = b.op("MaxPool", {last},
                  with({{"kernel_shape", kernel},
                        {"pads", pads},
                        {"strides", std::vector<std::int64_t>(kernel.size(), 1)}}));
      reach = pool.kernel;
      replaced.emplace_back(pool.node, 0);
      by.push_back(last);
    }
    if (!grows) continue;
    keep(out,
         propose(site, kKind,
                 fmt::format("{} maxima over windows of {} one from the other", pools.size(), site.name(x)),
                 b, replaced, by));
  }
}

Proposals propose_fastpath(const Graph& graph, const Inference& inference, const ProposeOptions& options) {
  Proposals out;
  const Site site(graph, inference, *options.machine);
  propose_lift(site, out);
  propose_flatten(site, out);
  propose_padded_channels(site, out);
  propose_channels_first(site, out);
  propose_recurrence(site, out);
  propose_residuals(site, out);
  propose_quantized_channels(site, out);
  propose_float_borders(site, out);
  propose_quantized_tables(site, out);
  softmax(site, out);
  slopes(site, out);
  groups(site, out);
  flat_weights(site, out);
  chained_pools(site, out);
  std::ranges::stable_sort(out.list, std::greater<>{}, &Proposal::gain);
  return out;
}

}  // namespace

constinit const Proposer kFastpath{
    .name = "fastpath",
    .title = "a form with a faster kernel",
    .law = "f(x) = σ⁻¹ f′(σ x)",
    .finds =
        "Rewrites nodes to forms that ONNX Runtime has faster kernels for: one dimension as two, "
        "channels padded (quantized ones to four), groups merged, softmax on the last axis, "
        "LSTMs and GRUs that are written out step by step as the operator, residual additions "
        "apart from a slow fused normalization.",
    .propose = propose_fastpath,
    .remark = "a faster kernel of the runtime",
};

}  // namespace isomer
