#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "optimizer/propose/runtime_forms/fastpath.h"

namespace isomer {
namespace {

// [N, H, W, C] -> [N, C, H, W].
const std::vector<std::int64_t> kToFront{0, 3, 1, 2};

bool is_product(const Site& site, NodeId id) {
  if (!site.is(id, "MatMul") || site.activations(id).size() != 1) return false;
  const auto w = site.concrete_sizes(site.node(id).inputs[1]);
  return site.is_constant(site.node(id).inputs[1]) && w && w->size() == 2;
}

// A constant that broadcasts against [N, H, W, C], against [N, C, H, W].
std::optional<Value> turned(ProgramBuilder& b, const Site& site, Value constant) {
  const auto sizes = site.concrete_sizes(constant);
  if (!sizes) return std::nullopt;
  const Value c = b.input(site.name(constant));
  std::int64_t count = 1;
  for (const std::int64_t e : *sizes) count *= e;
  if (count == 1) return c;
  if (count == sizes->back()) return b.reshape(c, {count, 1, 1});
  if (sizes->size() != 4) return std::nullopt;
  return b.transpose(c, kToFront);
}

// Nodes before a transposition to [N, C, H, W] that are read nowhere else: products along channels, and
// functions of single elements.
std::vector<NodeId> nodes_before(const Site& site, NodeId transpose) {
  std::set<NodeId> inside{transpose};
  std::vector<NodeId> out;
  bool any_product = false;
  for (const NodeId id : site.graph.order() | std::views::reverse) {
    const Value v{id, 0};
    if (id == transpose || site.node(id).kind != NodeKind::Operator || site.rank(v) != 4) continue;
    const auto& readers = site.readers(v);
    if (site.is_output(v) || readers.empty() ||
        !std::ranges::all_of(readers, [&](NodeId r) { return inside.contains(r); }))
      continue;
    const auto activations = site.activations(id);
    const bool fits = is_product(site, id) || is_pointwise(site, id);
    if (!fits || !std::ranges::all_of(activations, [&](Value x) { return site.rank(x) == 4; })) continue;
    any_product = any_product || is_product(site, id);
    inside.insert(id);
    out.push_back(id);
  }
  if (!any_product) return {};
  std::ranges::reverse(out);
  return out;
}

std::optional<Proposal> convolutions(const Site& site, NodeId transpose, const std::vector<NodeId>& nodes) {
  ProgramBuilder b(site.graph, site.name({transpose, 0}));
  std::map<Value, Value> made;
  for (const NodeId id : nodes) {
    const Node& node = site.node(id);
    std::vector<Value> inputs;
    for (const Value& v : node.inputs) {
      if (!v.exists() || made.contains(v)) {
        inputs.push_back(v.exists() ? made.at(v) : v);
      } else if (!site.is_constant(v)) {
        inputs.push_back(made[v] = b.transpose(b.input(site.name(v)), kToFront));
      } else if (is_product(site, id)) {
        const auto w = site.concrete_sizes(v);
        inputs.push_back(b.reshape(b.transpose(b.input(site.name(v)), {1, 0}), {(*w)[1], (*w)[0], 1, 1}));
      } else {
        const auto constant = turned(b, site, v);
        if (!constant) return std::nullopt;
        inputs.push_back(*constant);
      }
    }
    made[{id, 0}] = is_product(site, id) ? b.op("Conv", inputs) : b.copy(node, inputs);
  }
  return propose(site, "fastpath",
                 fmt::format("{} nodes with channels last as convolutions, to {}", nodes.size(),
                             site.name({transpose, 0})),
                 b, {{transpose, 0}}, {made.at(site.node(transpose).inputs[0])});
}

}  // namespace

void propose_channels_first(const Site& site, Proposals& out) {
  for (const NodeId id : site.graph.order()) {
    if (!site.is(id, "Transpose")) continue;
    if (attribute(site.node(id), "perm", std::vector<std::int64_t>{}) != kToFront) continue;
    const auto nodes = nodes_before(site, id);
    if (nodes.empty()) continue;
    if (auto p = convolutions(site, id, nodes)) out.list.push_back(std::move(*p));
  }
}

}  // namespace isomer
