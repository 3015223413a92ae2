#include "optimizer/search/saturate/program_classes.h"

#include "model/graph/constant.h"
#include "model/graph/content.h"
#include "model/graph/infer.h"
#include "optimizer/facts/price.h"

namespace isomer {

using Class = EGraph::Class;
using NodeNumber = EGraph::NodeNumber;

ProgramClasses::ProgramClasses(const Graph& region) {
  for (const NodeId id : region.order())
    if (const auto tensor = known_constant(region, {id, 0}))
      own_.insert(graph_.class_of(add_constant(*tensor)));
}

// Large tensors are read once.
Digest ProgramClasses::content(const Tensor& tensor) {
  Hasher place;
  add_content(place, tensor);
  const auto known = contents_.find(place.digest());
  if (known != contents_.end()) return known->second.second;
  Hasher hasher;
  hasher.add("constant");
  add_content(hasher, tensor, ContentDigests::Full);
  contents_.emplace(place.digest(), std::pair{tensor, hasher.digest()});
  return hasher.digest();
}

Digest ProgramClasses::what(const Node& node) const {
  Hasher hasher;
  hasher.add(static_cast<int>(node.kind)).add(node.op).add(node.domain).add(node.overload);
  hasher.add(static_cast<std::uint64_t>(node.outputs.size()));
  add_content(hasher, node.attributes);
  // A node with a body, or an input, equals only itself.
  if (node.kind != NodeKind::Operator || !node.bodies.empty() || !node.captures.empty())
    hasher.add(node.outputs[0]);
  // Absent inputs are no children.
  for (const Value& v : node.inputs) hasher.add(v.exists() ? 1 : 0);
  return hasher.digest();
}

NodeNumber ProgramClasses::add(Digest what, std::vector<Class> children, double price, Word word) {
  const NodeNumber n = graph_.add(what, std::move(children), price);
  if (n == words_.size()) words_.push_back(std::move(word));
  return n;
}

NodeNumber ProgramClasses::add_constant(const Tensor& tensor) {
  return add(content(tensor), {}, 0, {.kind = Word::Kind::Constant, .tensor = tensor});
}

std::optional<Class> ProgramClasses::class_of(const Tensor& constant) {
  return graph_.class_of(add_constant(constant));
}

void ProgramClasses::add_recipes(const Draft& draft) {
  for (const Draft::Folded& folded : draft.folded) {
    const Class c = graph_.class_of(add_constant(folded.value));
    // The first one stays: what it reads was known before, so that no constant is computed from itself.
    if (own_.contains(c) || recipes_.contains(c)) continue;
    bool reads_itself = false;
    for (const NodeId id : folded.program.order())
      if (const auto tensor = known_constant(folded.program, {id, 0}))
        reads_itself |= graph_.class_of(add_constant(*tensor)) == c;
    if (!reads_itself) recipes_.emplace(c, folded.program);
  }
}

const Graph* ProgramClasses::recipe(Class c) const {
  const auto at = recipes_.find(graph_.canonical(c));
  return at == recipes_.end() ? nullptr : &at->second;
}

Placed ProgramClasses::add(const Draft& draft, const Machine& machine) {
  Placed out;
  const Graph& graph = draft.graph;
  const auto inference = infer(graph);
  if (!inference.ok()) return out;
  add_recipes(draft);
  const std::set<NodeId> folded = folded_nodes(graph);
  const auto place = [&](Value v, NodeNumber n) {
    out.nodes.insert(n);
    out.classes.emplace(v, graph_.class_of(n));
    out.makers.emplace(v, n);
    out.values.emplace(n, v);
  };
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (const auto tensor = known_constant(graph, {id, 0})) {
      place({id, 0}, add_constant(*tensor));
      continue;
    }
    std::vector<Class> children;
    for (const Value& v : node.inputs)
      if (v.exists()) children.push_back(out.classes.at(v));
    const bool is_operator = node.kind == NodeKind::Operator;
    const double price =
        is_operator && !folded.contains(id) ? price_of(graph, *inference, id, machine).value_or(0) : 0;
    const NodeNumber n = add(what(node), std::move(children), price,
                             {.kind = is_operator ? Word::Kind::Operator : Word::Kind::Input, .node = node});
    if (node.outputs.size() == 1) {
      place({id, 0}, n);
      continue;
    }
    out.nodes.insert(n);
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
      place({id, k}, add(Hasher().add("output").add(static_cast<std::uint64_t>(k)).digest(),
                         {graph_.class_of(n)}, 0, {.kind = Word::Kind::Output, .output = k}));
  }
  for (const Value& v : graph.outputs()) out.outputs.push_back(out.classes.at(v));
  return out;
}

Placed ProgramClasses::current(const Placed& placed) const {
  Placed out;
  for (const auto& [v, c] : placed.classes) out.classes.emplace(v, graph_.canonical(c));
  for (const auto& [v, n] : placed.makers) out.makers.emplace(v, graph_.canonical_node(n));
  for (const auto& [n, v] : placed.values) out.values.emplace(graph_.canonical_node(n), v);
  for (const NodeNumber n : placed.nodes) out.nodes.insert(graph_.canonical_node(n));
  for (const Class c : placed.outputs) out.outputs.push_back(graph_.canonical(c));
  return out;
}

Digest ProgramClasses::key(const Graph& graph, const Placed& placed, const Claim& claim) {
  std::map<std::string, Class> names;
  for (const auto& [v, c] : placed.classes) names.emplace(graph.name_of(v), graph_.canonical(c));
  std::map<NodeId, Digest> digests;
  Hasher all;
  for (const NodeId id : claim.after.order()) {
    const Node& node = claim.after.node(id);
    Hasher hasher;
    if (node.kind == NodeKind::Input && names.contains(node.outputs[0]))
      hasher.add("class").add(static_cast<std::uint64_t>(names.at(node.outputs[0])));
    else if (const auto tensor = known_constant(claim.after, {id, 0})) hasher.add(content(*tensor));
    else hasher.add(what(node));
    for (const Value& v : node.inputs)
      if (v.exists()) hasher.add(digests.at(v.node)).add(static_cast<std::uint64_t>(v.output));
    digests.emplace(id, hasher.digest());
  }
  for (const Value& v : claim.after.outputs())
    all.add(digests.at(v.node)).add(static_cast<std::uint64_t>(v.output));
  for (const std::string& name : claim.outputs)
    all.add(static_cast<std::uint64_t>(names.contains(name) ? names.at(name) : ~Class{0}));
  return all.digest();
}

}  // namespace isomer
