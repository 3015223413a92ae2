#include "optimizer/propose/values/widen.h"

#include <fmt/format.h>

#include "kernel/prove/widen.h"

namespace isomer {

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

}  // namespace isomer
