#include "compiler/cover/graph_copy.h"

#include "model/graph/rebuild.h"

namespace isomer {

void GraphCopy::copy(NodeId id) {
  Node node = from_.node(id);
  for (Value& v : node.inputs) v = of(v);
  for (Value& v : node.captures) v = of(v);
  const auto outputs = static_cast<std::uint32_t>(node.outputs.size());
  const NodeId made = to_.add(std::move(node));
  if (from_.is_overridable(id)) to_.mark_overridable(made);
  for (std::uint32_t k = 0; k < outputs; ++k) set({id, k}, {made, k});
}

Graph GraphCopy::finish() {
  for (const Value& v : from_.inputs()) to_.add_input(of(v));
  for (const Value& v : from_.outputs()) to_.add_output(of(v));
  return without_dead_nodes(to_);
}

DeclaredType declared_as(const ValueInfo& info) {
  DeclaredType type{.type = info.type};
  if (info.shape) type.shape = std::vector<std::optional<Dim>>(info.shape->begin(), info.shape->end());
  return type;
}

}  // namespace isomer
