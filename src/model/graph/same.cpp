#include "model/graph/same.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "model/graph/content.h"
#include "model/graph/names.h"

namespace isomer {
namespace {

// Nodes by their first named output; those without are known by their content only.
std::string key_of(const Node& node) {
  for (const std::string& o : node.outputs)
    if (!o.empty()) return o;
  return "(" + node.name;
}

bool same_node(const Graph& a, const Node& x, const Graph& b, const Node& y) {
  return x.kind == y.kind && x.op == y.op && x.domain == y.domain && x.overload == y.overload &&
         a.opset(x.domain) == b.opset(y.domain) && x.outputs == y.outputs && x.extras == y.extras &&
         x.declared == y.declared && names_of(a, x.inputs) == names_of(b, y.inputs) &&
         names_of(a, x.captures) == names_of(b, y.captures) && same_elements(x.attributes, y.attributes) &&
         same_inside(a, x, b, y) && (x.kind != NodeKind::Initializer || x.tensor.same_bits(y.tensor));
}

// The declarations of values: no new ones, and for outputs all old ones. A wrong declaration changes no
// value, but a runtime may reject the model for it.
std::optional<std::string> first_other_declaration(const Graph& a, const Graph& b) {
  for (const auto& [name, type] : b.declared()) {
    const auto at = a.declared().find(name);
    if (at == a.declared().end() || at->second != type)
      return fmt::format("{} is declared otherwise than before", name);
  }
  for (const Value& v : b.outputs())
    if (a.declared().contains(b.name_of(v)) && !b.declared().contains(b.name_of(v)))
      return fmt::format("{} is declared no more", b.name_of(v));
  return std::nullopt;
}

// Operator sets that no node uses, and functions that none calls, count only for whole models.
std::optional<std::string> first_difference_inside(const Graph& a, const Graph& b) {
  if (names_of(a, a.inputs()) != names_of(b, b.inputs())) return "the inputs are not the same";
  if (names_of(a, a.outputs()) != names_of(b, b.outputs())) return "the outputs are not the same";
  if (auto declared = first_other_declaration(a, b)) return declared;
  std::map<std::string, NodeId> nodes;
  for (const NodeId id : a.order())
    if (!nodes.emplace(key_of(a.node(id)), id).second) return "two nodes make the same value";
  std::set<std::string> seen;
  for (const NodeId id : b.order()) {
    const std::string key = key_of(b.node(id));
    const auto at = nodes.find(key);
    if (at == nodes.end()) return fmt::format("{} is not accounted for", label(b.node(id)));
    if (!seen.insert(key).second) return "two nodes make the same value";
    if (!same_node(a, a.node(at->second), b, b.node(id)) ||
        a.is_overridable(at->second) != b.is_overridable(id))
      return fmt::format("{} is not what the steps make of it", label(b.node(id)));
  }
  if (seen.size() != nodes.size()) {
    for (const auto& [key, id] : nodes)
      if (!seen.contains(key)) return fmt::format("{} is missing", label(a.node(id)));
  }
  return std::nullopt;
}

// Graphs that the node runs, as far as the file says: those that were too large to write out are among them.
std::size_t bodies_of(const Graph& graph, const Node& node) {
  if (graph.is_call(node)) return 1;
  return static_cast<std::size_t>(std::ranges::count_if(node.attributes.all(), [](const Attribute& a) {
    const auto* raw = std::get_if<RawAttribute>(&a.value);
    return raw != nullptr && raw->is_graph;
  }));
}

}  // namespace

bool same_elements(const Attributes& a, const Attributes& b) {
  return std::ranges::equal(a.all(), b.all(), [](const Attribute& x, const Attribute& y) {
    const auto *t = std::get_if<Tensor>(&x.value), *u = std::get_if<Tensor>(&y.value);
    if (t != nullptr && u != nullptr) return x.name == y.name && t->same_bits(*u);
    return same_content(Attributes({x}), Attributes({y}));
  });
}

bool same_inside(const Graph& a, const Node& x, const Graph& b, const Node& y) {
  if (a.is_call(x) != b.is_call(y) || x.bodies.size() != y.bodies.size()) return false;
  // A function that was not inlined may call any function, of any operator set.
  const bool is_whole = bodies_of(a, x) == x.bodies.size() && bodies_of(b, y) == y.bodies.size();
  if (!is_whole && (*a.functions != *b.functions || a.opsets != b.opsets)) return false;
  return std::ranges::equal(x.bodies, y.bodies, [](const Body& p, const Body& q) {
    return p.attribute == q.attribute && p.captured == q.captured &&
           !first_difference_inside(*p.graph, *q.graph);
  });
}

std::optional<std::string> first_difference(const Graph& a, const Graph& b) {
  if (a.opsets != b.opsets) return "the operator sets are not the same";
  for (const auto& [name, digest] : *a.functions) {
    const auto at = b.functions->find(name);
    if (at == b.functions->end() || at->second != digest)
      return fmt::format("function {}.{} is not the same", name.domain, name.name);
  }
  if (a.functions->size() != b.functions->size()) return "the functions are not the same";
  return first_difference_inside(a, b);
}

}  // namespace isomer
