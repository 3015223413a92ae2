// Puts a Sum of one value after a dequantiser; the Sum changes nothing. The runtime moves its dequantisers
// through data movement, gives each reader a separate one, and makes integer kernels of the nodes between
// them and quantisers. So a function of a value that is written out in several nodes no longer reads one
// value, and is not recognised (a GELU); and a softmax is computed in integers, which was measured to be
// slower. After a Sum the runtime leaves floats as they are.
#include <fmt/format.h>

#include <algorithm>

#include "optimizer/facts/copied_nodes.h"
#include "optimizer/propose/runtime_forms/fastpath.h"

namespace isomer {
namespace {

// The dequantiser that a value is made by, and what moves data on the way; empty: it is none.
std::vector<NodeId> way_from_dequantiser(const Site& site, Value v) {
  std::vector<NodeId> way;
  while (v.exists() && !site.is_constant(v)) {
    const Node& node = site.node(v.node);
    if (node.kind != NodeKind::Operator || node.op == "Sum") break;  // a border already
    way.insert(way.begin(), v.node);
    if (site.is(v.node, "DequantizeLinear")) {
      if (site.is_constant(node.inputs[0])) break;
      return way;
    }
    const auto formula = site.formula(v.node);
    if (!formula || formula->stages.size() != 1 || !moves_data(*formula->stages[0].value)) break;
    v = node.inputs[0];
  }
  return {};
}

// Whether all that reads it goes back to steps at once: such a node is an integer kernel.
bool is_quantised(const Site& site, NodeId id) {
  const auto& readers = site.readers({id, 0});
  return !readers.empty() &&
         std::ranges::all_of(readers, [&](NodeId r) { return site.is(r, "QuantizeLinear"); });
}

bool is_border(const Site& site, Value v) {
  const auto& readers = site.readers(v);
  if (std::ranges::any_of(readers, [&](NodeId r) { return site.is(r, "Softmax"); })) return true;
  return readers.size() > 1 && std::ranges::none_of(readers, [&](NodeId r) {
           const auto formula = site.formula(r);
           return !formula || site.is(r, "QuantizeLinear") || site.is(r, "Sum") || is_quantised(site, r);
         });
}

}  // namespace

void propose_float_borders(const Site& site, Proposals& out) {
  if (site.graph.opset("") < 8) return;
  for (const NodeId id : site.graph.order()) {
    const Value v{id, 0};
    if (site.node(id).kind != NodeKind::Operator || site.node(id).outputs.size() != 1 || site.is_output(v) ||
        !is_border(site, v))
      continue;
    const std::vector<NodeId> way = way_from_dequantiser(site, v);
    if (way.empty()) continue;
    // From the dequantiser to the end of the function, so that the runtime sees all of it when it is timed;
    // at named sizes only the border, since of a maximum of nothing there nothing is known.
    std::vector<NodeId> behind = computed_from(site, v);
    if (!site.concrete_sizes(v)) behind.clear();
    ProgramBuilder b(site.graph, site.name(v));
    std::map<Value, Value> moved, made;
    copy_nodes(b, site, way, moved);
    made[v] = b.op("Sum", {moved.at(v)});
    copy_nodes(b, site, behind, made);
    const auto [replaced, by] = read_elsewhere(site, made);
    if (auto p = propose(site, "fastpath", fmt::format("what reads {} stays in floats", site.name(v)), b,
                         replaced, by))
      out.list.push_back(std::move(*p));
  }
}

}  // namespace isomer
