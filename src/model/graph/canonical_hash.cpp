#include "model/graph/canonical_hash.h"

#include <map>

#include "model/graph/purity.h"

namespace isomer {
namespace {

// The first word of each kind's digest, so that no two kinds are confused.
enum class Start : std::uint8_t { Input, Initializer, Overridable, Operator, Output, Absent, Graph, Region };

Hasher start(Start kind) {
  Hasher hasher;
  hasher.add(static_cast<int>(kind));
  return hasher;
}

class NodeHasher {
 public:
  NodeHasher(const Graph& graph, ContentDigests digests) : graph_(graph), digests_(digests) {}

  void set(Value value, const Digest& digest) { given_[value] = digest; }

  Digest of(Value value) const {
    if (!value.exists()) return start(Start::Absent).digest();
    if (const auto at = given_.find(value); at != given_.end()) return at->second;
    const auto at = nodes.find(value.node);
    ISOMER_CHECK(at != nodes.end(), "a value that the region neither computes nor is given");
    return start(Start::Output).add(at->second).add(std::uint64_t{value.output}).digest();
  }

  void add_initializer(NodeId id) {
    Hasher hasher = start(Start::Initializer);
    add_content(hasher, graph_.node(id).tensor, digests_);
    nodes.try_emplace(id, hasher.digest());
  }

  void add_operator(NodeId id) {
    const Node& node = graph_.node(id);
    Hasher hasher = start(Start::Operator);
    for (const std::string* text : {&node.op, &node.domain, &node.overload})
      hasher.add(std::string_view(*text));
    hasher.add(graph_.opset(node.domain));
    add_content(hasher, node.attributes, digests_);
    for (const auto* values : {&node.inputs, &node.captures}) {
      hasher.add(static_cast<std::uint64_t>(values->size()));
      for (const Value& value : *values) hasher.add(of(value));
    }
    hasher.add(static_cast<std::uint64_t>(node.outputs.size()));
    for (const std::string& output : node.outputs) hasher.add(output.empty() ? 0 : 1);
    if (purity(graph_, node) == Purity::Unknown) add_functions(hasher);
    if (purity(graph_, node) != Purity::Function) hasher.add(occurrences_[hasher.digest()]++);
    nodes.try_emplace(id, hasher.digest());
  }

  std::unordered_map<NodeId, Digest> nodes;

 private:
  // A body may call any of them, of any operator set.
  void add_functions(Hasher& hasher) const {
    for (const auto& [name, digest] : *graph_.functions) {
      for (const std::string* text : {&name.domain, &name.name, &name.overload, &digest})
        hasher.add(std::string_view(*text));
    }
    for (const auto& [domain, version] : graph_.opsets) hasher.add(std::string_view(domain)).add(version);
  }

  const Graph& graph_;
  ContentDigests digests_;
  std::map<Value, Digest> given_;
  std::unordered_map<Digest, std::uint64_t> occurrences_;  // of nodes that may be no functions
};

// The same types with symbols named s0, s1, ... in order of appearance.
std::vector<TensorType> with_numbered_symbols(std::vector<TensorType> types) {
  std::map<std::string, Dim, std::less<>> numbered;
  for (TensorType& type : types) {
    for (Dim& dim : type.shape) {
      if (dim.is_concrete()) continue;
      for (const std::string& symbol : dim.symbols())
        numbered.try_emplace(symbol, Dim::symbol("s" + std::to_string(numbered.size())));
      dim = dim.substitute([&](std::string_view symbol) { return numbered.find(symbol)->second; });
    }
  }
  return types;
}

}  // namespace

Digest CanonicalHashes::of(Value value) const {
  const auto at = nodes.find(value.node);
  ISOMER_CHECK(at != nodes.end());
  return start(Start::Output).add(at->second).add(std::uint64_t{value.output}).digest();
}

CanonicalHashes canonical_hashes(const Graph& graph, ContentDigests digests) {
  NodeHasher hasher(graph, digests);
  Hasher whole = start(Start::Graph);
  for (std::size_t position = 0; position < graph.inputs().size(); ++position) {
    const NodeId id = graph.inputs()[position].node;
    const Node& node = graph.node(id);
    Hasher input = start(node.kind == NodeKind::Input ? Start::Input : Start::Overridable);
    input.add(static_cast<std::uint64_t>(position));
    add_content(input, node.declared);
    add_content(input, node.tensor, digests);
    hasher.nodes.try_emplace(id, input.digest());
    whole.add(input.digest());
  }
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (hasher.nodes.contains(id)) continue;
    ISOMER_CHECK(node.kind != NodeKind::Input, "an input that the graph does not list");
    if (node.kind == NodeKind::Initializer) hasher.add_initializer(id);
    else hasher.add_operator(id);
  }
  for (const Value& output : graph.outputs()) whole.add(hasher.of(output));
  return {whole.digest(), std::move(hasher.nodes)};
}

Digest canonical_hash(const Graph& graph, const Region& region, const std::vector<TensorType>& types,
                      ContentDigests digests) {
  ISOMER_CHECK(types.empty() || types.size() == region.inputs.size());
  const auto numbered = with_numbered_symbols(types);
  NodeHasher hasher(graph, digests);
  Hasher whole = start(Start::Region);
  for (std::size_t position = 0; position < region.inputs.size(); ++position) {
    Hasher input = start(Start::Input);
    input.add(static_cast<std::uint64_t>(position));
    if (!numbered.empty()) {
      input.add(static_cast<int>(numbered[position].type))
          .add(static_cast<int>(numbered[position].shape.size()));
      for (const Dim& dim : numbered[position].shape) add_content(input, dim);
    }
    hasher.set(region.inputs[position], input.digest());
    whole.add(input.digest());
  }
  for (const NodeId id : region.nodes) {
    const Node& node = graph.node(id);
    for (const auto* values : {&node.inputs, &node.captures})
      for (const Value& value : *values)
        if (value.exists() && graph.node(value.node).kind == NodeKind::Initializer &&
            !graph.is_overridable(value.node))
          hasher.add_initializer(value.node);
    if (node.kind == NodeKind::Operator) hasher.add_operator(id);
  }
  for (const Value& output : region.outputs) whole.add(hasher.of(output));
  return whole.digest();
}

}  // namespace isomer
