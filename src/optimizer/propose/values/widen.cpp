// widen: nodes of 16-bit floats that compute in float32, from border to border: runtimes lose fusions in 16
// bits. A bet on the runtime, and the first thing that is done to a graph: what others find then, and fold,
// rounds as float32 does. In 16 bits a batch normalization that goes into weights costs more digits than it
// is worth.
#include <fmt/format.h>

#include "kernel/prove/widen.h"
#include "optimizer/propose/proposer.h"

namespace isomer {
namespace {

Proposals propose_widen(const Graph& graph, const Inference& inference, const ProposeOptions&) {
  Proposals out;
  const std::set<NodeId> nodes = widenable(graph, inference);
  Proposal p{.kind = "widen", .what = {}, .claim = {}, .folds = {}, .rounds_otherwise = true};
  for (const NodeId id : graph.order()) {
    if (!nodes.contains(id)) continue;
    for (const std::string& name : graph.node(id).outputs)
      if (!name.empty()) p.widens.push_back(name);
  }
  if (nodes.empty()) return out;
  p.what =
      fmt::format("{} nodes of 16-bit floats compute in float32, with casts at their borders: rounded less",
                  nodes.size());
  out.list.push_back(std::move(p));
  return out;
}

}  // namespace

constinit const Proposer kWiden{
    .name = "widen",
    .title = "16 bits in, 16 bits out, float32 between",
    .law = "ρ₁₆(f(ρ₁₆(g(x))))   ⟼   ρ₁₆(f(g(x)))",
    .finds =
        "Computes nodes of 16-bit floats in float32, from border to border, with weights as they "
        "are stored: runtimes lose fusions in 16 bits. It rounds less, and is taken only where "
        "the measured error is not larger.",
    .propose = propose_widen,
    .kind = Proposer::Kind::First,
    .summary = "16-bit floats computed in float32: rounded less",
};

}  // namespace isomer
