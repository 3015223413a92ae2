#include "optimizer/plans/known_region.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kernel/prove/facts.h"
#include "model/graph/constant.h"
#include "model/graph/content.h"
#include "optimizer/plans/colours.h"

namespace isomer {
namespace {

Digest content_of(const Tensor& tensor) {
  Hasher hasher;
  add_content(hasher, tensor, ContentDigests::Full);
  return hasher.digest();
}

// How many large constants have the same bytes; equal types and extents come first, so that weights which
// are alone in theirs are never read.
class SameConstants {
 public:
  explicit SameConstants(const Graph& graph) {
    std::map<std::pair<ElementType, Extents>, std::vector<Tensor>> alike;
    for (const NodeId id : graph.order())
      if (const auto t = known_constant(graph, {id, 0}); t && is_symbol(*t))
        alike[{t->type(), t->extents()}].push_back(*t);
    for (const auto& [kind, tensors] : alike)
      if (tensors.size() > 1)
        for (const Tensor& t : tensors) ++count_[content_of(t)];
      else alone_.insert(kind);
  }
  int of(const Tensor& tensor) const {
    return alone_.contains({tensor.type(), tensor.extents()}) ? 1 : count_.at(content_of(tensor));
  }

 private:
  std::set<std::pair<ElementType, Extents>> alone_;
  std::map<Digest, int> count_;
};

// The region with its large constants as inputs; names as they come.
struct Reduced {
  KnownRegion region;
  std::map<Value, Value> values;  // of the graph it was
};

Result<Reduced> reduced(const Graph& graph) {
  Reduced out;
  out.region.graph.opsets = graph.opsets;
  const SameConstants same(graph);
  int next = 0;
  for (const NodeId id : graph.order()) {
    Node node = graph.node(id);
    if (!node.bodies.empty() || !node.captures.empty()) return Error{"a node with a body"};
    const auto constant = known_constant(graph, {id, 0});
    const bool is_large = constant && is_symbol(*constant);
    if (constant) {
      node = {};
      node.kind = is_large ? NodeKind::Input : NodeKind::Initializer;
      node.outputs = {""};
      if (is_large) {
        const Dims dims = to_dims(constant->extents());
        node.declared.type = constant->type();
        node.declared.shape = std::vector<std::optional<Dim>>(dims.begin(), dims.end());
      } else {
        node.tensor = *constant;
      }
    } else if (node.kind == NodeKind::Input && (!node.declared.is_tensor || !node.declared.shape)) {
      return Error{"an input of unknown type"};
    } else if (node.kind == NodeKind::Initializer) {
      return Error{"a constant that may be overridden"};
    }
    for (Value& v : node.inputs)
      if (v.exists()) v = out.values.at(v);
    node.name.clear();
    node.extras.clear();
    for (std::string& name : node.outputs)
      if (!name.empty() || constant) name = fmt::format("r{}", next++);
    const std::size_t count = node.outputs.size();
    const bool is_input = node.kind == NodeKind::Input;
    const std::string first = node.outputs.empty() ? "" : node.outputs[0];
    const NodeId made = out.region.graph.add(std::move(node));
    if (is_input) out.region.graph.add_input({made, 0});
    if (is_large)
      out.region.constants.emplace(
          first, KnownRegion::Constant{.positive = all_positive(*constant), .same = same.of(*constant)});
    for (std::uint32_t k = 0; k < count; ++k) out.values.emplace(Value{id, k}, Value{made, k});
  }
  for (const Value& v : graph.outputs()) out.region.graph.add_output(out.values.at(v));
  return out;
}

std::unordered_map<NodeId, Digest> colours_of(const KnownRegion& region) {
  return colours(region.graph, [&](NodeId id) -> std::string {
    const Node& node = region.graph.node(id);
    if (node.kind != NodeKind::Input) return "";
    const auto at = region.constants.find(node.outputs[0]);
    if (at == region.constants.end()) return "value";
    return fmt::format("{} {}", at->second.positive ? "positive" : "constant", at->second.same);
  });
}

// Every node after what it reads; of those that may come next, the one of the smallest colour.
std::vector<NodeId> canonical_order(const Graph& graph, const std::unordered_map<NodeId, Digest>& colours) {
  std::map<NodeId, std::size_t> waits;
  std::map<NodeId, std::vector<NodeId>> readers;
  std::set<std::pair<Digest, NodeId>> ready;
  for (const NodeId id : graph.order()) {
    std::set<NodeId> read;
    for (const Value& v : graph.node(id).inputs)
      if (v.exists()) read.insert(v.node);
    for (const NodeId r : read) readers[r].push_back(id);
    waits[id] = read.size();
    if (read.empty()) ready.emplace(colours.at(id), id);
  }
  std::vector<NodeId> out;
  while (!ready.empty()) {
    const NodeId id = ready.begin()->second;
    ready.erase(ready.begin());
    out.push_back(id);
    for (const NodeId r : readers[id])
      if (--waits[r] == 0) ready.emplace(colours.at(r), r);
  }
  return out;
}

}  // namespace

Result<Renamed> known_region(const Graph& graph) {
  ISOMER_TRY(const Reduced from, reduced(graph));
  const Graph& old = from.region.graph;
  const auto colours = colours_of(from.region);
  Renamed out;
  Graph& made = out.region.graph;
  made.opsets = old.opsets;
  std::map<Value, Value> moved;
  std::map<char, int> next;
  for (const NodeId id : canonical_order(old, colours)) {
    Node node = old.node(id);
    const auto constant = from.region.constants.find(node.outputs.empty() ? "" : node.outputs[0]);
    const bool is_large = constant != from.region.constants.end();
    const char letter = is_large                             ? 'w'
                        : node.kind == NodeKind::Input       ? 'x'
                        : node.kind == NodeKind::Initializer ? 'k'
                                                             : 'v';
    for (Value& v : node.inputs)
      if (v.exists()) v = moved.at(v);
    for (std::string& name : node.outputs)
      if (!name.empty()) name = fmt::format("{}{}", letter, next[letter]++);
    if (is_large) out.region.constants.emplace(node.outputs[0], constant->second);
    const std::size_t count = node.outputs.size();
    const bool is_input = node.kind == NodeKind::Input;
    const NodeId to = made.add(std::move(node));
    if (is_input) made.add_input({to, 0});
    for (std::uint32_t k = 0; k < count; ++k) moved.emplace(Value{id, k}, Value{to, k});
  }
  std::set<Value> outputs;
  for (const Value& v : old.outputs()) outputs.insert(moved.at(v));
  for (const Value& v : outputs) made.add_output(v);
  for (const auto& [value, to] : from.values)
    if (const std::string& name = graph.name_of(value); !name.empty())
      out.names.emplace(name, made.name_of(moved.at(to)));
  return out;
}

std::string key_of(const KnownRegion& region) {
  std::vector<Digest> all;
  for (const auto& [id, colour] : colours_of(region)) all.push_back(colour);
  std::ranges::sort(all);
  Hasher hasher;
  for (const Digest& d : all) hasher.add(d);
  return hasher.digest().hex();
}

}  // namespace isomer
