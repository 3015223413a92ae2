#include "certify/model_interface.h"

#include <fmt/format.h>

#include "graph/names.h"
#include "graph/spelling.h"
#include "prove/shrink.h"

namespace isomer {

std::map<std::string, const Node*> fed_inputs(const Graph& graph) {
  std::map<std::string, const Node*> out;
  for (const Value& v : graph.inputs())
    if (graph.node(v.node).kind == NodeKind::Input) out.emplace(graph.name_of(v), &graph.node(v.node));
  return out;
}

Graph with_symbols_of(const Graph& a, const Graph& b) {
  std::map<std::string, Dim, std::less<>> names;
  const auto of_a = fed_inputs(a);
  for (const auto& [name, node] : fed_inputs(b)) {
    const auto at = of_a.find(name);
    if (at == of_a.end() || !node->declared.shape || !at->second->declared.shape) continue;
    const auto &mine = *node->declared.shape, &theirs = *at->second->declared.shape;
    for (std::size_t d = 0; d < mine.size() && d < theirs.size(); ++d) {
      if (!mine[d] || !theirs[d]) continue;
      const auto symbols = mine[d]->symbols();
      if (symbols.size() == 1 && *mine[d] == Dim::symbol(symbols[0]) && !theirs[d]->is_concrete())
        names.try_emplace(symbols[0], *theirs[d]);
    }
  }
  return with_symbols_replaced(b, [&](std::string_view s) {
    const auto at = names.find(s);
    return at == names.end() ? Dim::symbol(s) : at->second;
  });
}

std::optional<std::string> interface_difference(const Graph& a, const Inference& a_info, const Graph& b,
                                                const Inference& b_info) {
  if (a.outputs().size() != b.outputs().size())
    return fmt::format("the first model has {} outputs, the second {}", a.outputs().size(),
                       b.outputs().size());
  const auto of_a = fed_inputs(a), of_b = fed_inputs(b);
  for (const auto& [name, node] : of_b)
    if (!of_a.contains(name)) return fmt::format("only the second model has an input named {}", name);
  for (const auto& [name, node] : of_a) {
    const auto at = of_b.find(name);
    if (at == of_b.end()) return fmt::format("only the first model has an input named {}", name);
    const DeclaredType &x = node->declared, &y = at->second->declared;
    if (x.type != y.type || x.is_tensor != y.is_tensor)
      return fmt::format("input {} is {} in the first model, {} in the second", name, spelled(x), spelled(y));
    if (x.shape && y.shape && x.shape->size() != y.shape->size())
      return fmt::format("input {} has rank {} in the first model, {} in the second", name, x.shape->size(),
                         y.shape->size());
  }
  for (std::size_t k = 0; k < a.outputs().size(); ++k) {
    const ValueInfo &x = a_info.of(a.outputs()[k]), &y = b_info.of(b.outputs()[k]);
    if (x.type != y.type && x.type != ElementType::Undefined && y.type != ElementType::Undefined)
      return fmt::format("output {} is {} in the first model, {} in the second", k, name(x.type),
                         name(y.type));
    if (x.shape && y.shape && x.shape->size() != y.shape->size())
      return fmt::format("output {} has rank {} in the first model, {} in the second", k, x.shape->size(),
                         y.shape->size());
  }
  return std::nullopt;
}

std::optional<std::string> size_difference(const Graph& a, const Inference& a_info, const Graph& b,
                                           const Inference& b_info) {
  const ValuesByName names = values_by_name(b);
  for (const Value& v : a.inputs()) {
    const auto at = names.find(a.name_of(v));
    if (at == names.end()) continue;
    const auto &x = a_info.of(v).shape, &y = b_info.of(at->second).shape;
    if (x != y)
      return fmt::format("input {} has the shape {} in the first model, {} in the second", a.name_of(v),
                         x ? text(*x) : "?", y ? text(*y) : "?");
  }
  return std::nullopt;
}

}  // namespace isomer
