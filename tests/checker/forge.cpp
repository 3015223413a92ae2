#include "checker/forge.h"

#include <map>

#include "model/graph/names.h"
#include "model/graph/rebuild.h"

namespace isomer::checker {
namespace {

// The program's nodes added to the graph; per node of the program, what it became.
std::optional<std::map<NodeId, NodeId>> add_program(Graph& graph, const ValuesByName& names,
                                                    const Graph& program) {
  std::map<NodeId, NodeId> moved;
  for (const NodeId id : program.order()) {
    Node node = program.node(id);
    if (const auto known = names.find(node.outputs[0]); known != names.end()) {
      moved.emplace(id, known->second.node);
      continue;
    }
    if (node.kind == NodeKind::Input) return std::nullopt;
    for (Value& v : node.inputs) {
      if (!v.exists()) continue;
      const auto known = names.find(program.name_of(v));
      v = known != names.end() ? known->second : Value{moved.at(v.node), v.output};
    }
    moved.emplace(id, graph.add(std::move(node)));
  }
  return moved;
}

std::optional<Graph> applied(const Graph& graph, const Claim& claim) {
  const ValuesByName names = values_by_name(graph);
  Graph out = graph;
  const auto moved = add_program(out, names, claim.after);
  if (!moved || claim.after.outputs().size() != claim.outputs.size()) return std::nullopt;
  Replacements replacements;
  std::map<std::string, std::string> old_names;
  for (std::size_t k = 0; k < claim.outputs.size(); ++k) {
    const auto replaced = names.find(claim.outputs[k]);
    if (replaced == names.end()) return std::nullopt;
    const Value v = claim.after.outputs()[k];
    const auto known = names.find(claim.after.name_of(v));
    const Value made = known != names.end() ? known->second : Value{moved->at(v.node), v.output};
    if (made == replaced->second) continue;
    replacements.emplace(replaced->second, made);
    if (claim.after.node(v.node).kind == NodeKind::Operator)
      old_names.emplace(claim.after.name_of(v), claim.outputs[k]);
  }
  const auto result = replace(out, replacements);
  if (!result.ok()) return std::nullopt;
  const Graph alive = without_dead_nodes(*result);
  const ValuesByName taken = values_by_name(alive);
  return with_changed_nodes(alive, [&](Node& node) {
    for (std::string& o : node.outputs)
      if (const auto at = old_names.find(o); at != old_names.end() && !taken.contains(at->second))
        o = at->second;
  });
}

}  // namespace

std::optional<Graph> forged(const Graph& in, const std::vector<CertifiedStep>& steps) {
  Graph now = in;
  for (const CertifiedStep& step : steps) {
    if (const auto* claim = std::get_if<Claim>(&step)) {
      auto next = applied(now, *claim);
      if (!next) return std::nullopt;
      now = std::move(*next);
    } else {
      auto next = fold_constants(now, std::get<FoldStep>(step).values);
      if (!next.ok()) return std::nullopt;
      now = std::move(*next);
    }
  }
  return now;
}

}  // namespace isomer::checker
