// A sum of two activations that a normalization reads, as Sum instead of Add. ONNX Runtime fuses Add and a
// layer normalization into one kernel, which was measured to be several times slower than the two; Sum it
// leaves alone. The claim takes in all that is computed from the sum alone, so that the runtime sees the
// whole normalization when it is timed; at named sizes only the sum, since of a mean of nothing there nothing
// is known.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model/expr/parts.h"
#include "optimizer/facts/copied_nodes.h"
#include "optimizer/propose/runtime_forms/fastpath.h"

namespace isomer {
namespace {

bool sums_up(const Site& site, NodeId id) {
  const auto formula = site.formula(id);
  return formula && has_reductions(*formula);
}

bool is_residual(const Site& site, NodeId id) {
  if (!site.is(id, "Add") || site.graph.opset("") < 8) return false;
  const std::vector<Value>& in = site.node(id).inputs;
  const auto &a = site.inference.of(in[0]).shape, &b = site.inference.of(in[1]).shape;
  // A value that is quantised at once is an integer kernel of its own.
  const auto is_quantiser = [&](NodeId r) { return site.is(r, "QuantizeLinear"); };
  return site.activations(id).size() == 2 && a && b && a->size() > 1 && *a == *b &&
         std::ranges::none_of(site.readers({id, 0}), is_quantiser);
}

}  // namespace

void propose_residuals(const Site& site, Proposals& out) {
  for (const NodeId id : site.graph.order()) {
    if (!is_residual(site, id)) continue;
    std::vector<NodeId> nodes = computed_from(site, {id, 0});
    if (std::ranges::none_of(nodes, [&](NodeId n) { return sums_up(site, n); })) continue;
    if (!site.concrete_sizes({id, 0})) nodes.clear();
    ProgramBuilder b(site.graph, site.name({id, 0}));
    const std::vector<Value>& in = site.node(id).inputs;
    std::map<Value, Value> made{
        {{id, 0}, b.op("Sum", {b.input(site.name(in[0])), b.input(site.name(in[1]))})}};
    copy_nodes(b, site, nodes, made);
    const auto [replaced, by] = read_elsewhere(site, made);
    if (auto p =
            propose(site, "fastpath", fmt::format("{} as Sum before a normalization", label(site.node(id))),
                    b, replaced, by))
      out.list.push_back(std::move(*p));
  }
}

}  // namespace isomer
