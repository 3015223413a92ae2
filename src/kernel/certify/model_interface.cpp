#include "kernel/certify/model_interface.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "kernel/prove/shrink.h"
#include "model/graph/rebuild.h"
#include "model/graph/text/spelling.h"

namespace isomer {

namespace {

// All inputs, those that need not be fed among them.
std::map<std::string, Value> all_inputs(const Graph& graph) {
  std::map<std::string, Value> out;
  for (const Value& v : graph.inputs()) out.emplace(graph.name_of(v), v);
  return out;
}

// A type that is no tensor has its dims only in its spelling: seq(float[N, 3]) as "seq(float[,3])", or as
// "seq(float[,])".
enum class Numbers : std::uint8_t { Kept, Dropped };
std::string without_names(const DeclaredType& type, Numbers numbers) {
  std::string out;
  bool is_quoted = false, is_dim = false;
  const std::string spelling = spell(type);
  for (std::size_t i = 0; i < spelling.size(); ++i) {
    const char c = spelling[i];
    if (is_quoted && c == '\\') ++i;
    else if (c == '"') is_quoted = !is_quoted;
    else if (is_quoted) continue;
    else if (c == '[' || c == ']') {
      is_dim = c == '[';
      out += c;
    } else if (is_dim && is_letter(c)) {
      while (is_letter(spelling[i + 1]) || is_digit(spelling[i + 1])) ++i;
    } else if (!is_dim || c == ',' || (is_digit(c) && numbers == Numbers::Kept)) {
      out += c;
    }
  }
  return out;
}

// Types that have no value in common; extents don't matter.
bool are_apart(const DeclaredType& x, const DeclaredType& y) {
  if (x.is_tensor != y.is_tensor || x.type != y.type) return true;
  return !x.is_tensor && without_names(x, Numbers::Dropped) != without_names(y, Numbers::Dropped);
}

std::optional<std::string> input_difference(const std::string& name, const Graph& a, Value v, const Graph& b,
                                            Value w) {
  const Node &x = a.node(v.node), &y = b.node(w.node);
  if (are_apart(x.declared, y.declared))
    return fmt::format("input {} is {} in the first model, {} in the second", name, spell(x.declared),
                       spell(y.declared));
  if (x.declared.shape && y.declared.shape && x.declared.shape->size() != y.declared.shape->size())
    return fmt::format("input {} has rank {} in the first model, {} in the second", name,
                       x.declared.shape->size(), y.declared.shape->size());
  if (x.kind != y.kind)
    return fmt::format("input {} has a default in the {} model only", name,
                       x.kind == NodeKind::Initializer ? "first" : "second");
  if (x.kind == NodeKind::Initializer && !x.tensor.same_bits(y.tensor))
    return fmt::format("input {} has another default in the second model", name);
  return std::nullopt;
}

std::optional<std::string> output_difference(std::size_t k, const Graph& a, const Inference& a_info,
                                             const Graph& b, const Inference& b_info) {
  const ValueInfo &x = a_info.of(a.outputs()[k]), &y = b_info.of(b.outputs()[k]);
  const auto differ = [&](const auto& first, const auto& second) {
    return fmt::format("output {} is {} in the first model, {} in the second", k, first, second);
  };
  if (x.type != y.type && x.type != ElementType::Undefined && y.type != ElementType::Undefined)
    return differ(name(x.type), name(y.type));
  if (x.shape && y.shape && x.shape->size() != y.shape->size())
    return fmt::format("output {} has rank {} in the first model, {} in the second", k, x.shape->size(),
                       y.shape->size());
  const auto p = a.declared().find(a.name_of(a.outputs()[k])),
             q = b.declared().find(b.name_of(b.outputs()[k]));
  if (p != a.declared().end() && q != b.declared().end() && are_apart(p->second, q->second))
    return differ(spell(p->second), spell(q->second));
  return std::nullopt;
}

std::string only_in(std::string_view which, std::string_view input) {
  return fmt::format("only the {} model has an input named {}: --value {}=NUMBER compares them with it fixed",
                     which, input, input);
}

}  // namespace

Graph with_named_sizes(const Graph& graph) {
  std::set<std::string> taken = symbols_of(graph);
  return with_changed_nodes(graph, [&](Node& node) {
    if (node.kind == NodeKind::Operator || !node.declared.shape) return;
    for (std::size_t d = 0; d < node.declared.shape->size(); ++d) {
      auto& dim = (*node.declared.shape)[d];
      if (dim) continue;
      std::string name = fmt::format("?{}.{}", node.outputs[0], d);
      while (!taken.insert(name).second) name += "'";
      dim = Dim::symbol(name);
    }
  });
}

Graph with_symbols_of(const Graph& a, const Graph& b) {
  std::map<std::string, Dim, std::less<>> names;
  const auto of_a = all_inputs(a);
  for (const auto& [name, value] : all_inputs(b)) {
    const auto at = of_a.find(name);
    if (at == of_a.end()) continue;
    const auto &mine = b.node(value.node).declared.shape, &theirs = a.node(at->second.node).declared.shape;
    if (!mine || !theirs) continue;
    for (std::size_t d = 0; d < mine->size() && d < theirs->size(); ++d) {
      if (!(*mine)[d] || !(*theirs)[d]) continue;
      const auto symbols = (*mine)[d]->symbols();
      // If the first model has a number, only that size of the second is compared.
      if (symbols.size() == 1 && *(*mine)[d] == Dim::symbol(symbols[0]))
        names.try_emplace(symbols[0], *(*theirs)[d]);
    }
  }
  const std::set<std::string> theirs = symbols_of(a), own = symbols_of(b);
  std::set<std::string> taken = theirs;
  taken.insert(own.begin(), own.end());
  for (const std::string& symbol : own) {
    if (names.contains(symbol) || !theirs.contains(symbol)) continue;
    std::string unused = symbol + "'";
    while (!taken.insert(unused).second) unused += "'";
    names.emplace(symbol, Dim::symbol(unused));
  }
  return with_symbols_replaced(b, [&](std::string_view s) {
    const auto at = names.find(s);
    return at == names.end() ? Dim::symbol(s) : at->second;
  });
}

bool same_output_names(const Graph& a, const Graph& b) {
  const auto names = [](const Graph& graph) {
    std::set<std::string> out;
    for (const Value& v : graph.outputs()) out.insert(graph.name_of(v));
    return out;
  };
  const std::set<std::string> left = names(a), right = names(b);
  return left == right && left.size() == a.outputs().size() && right.size() == b.outputs().size();
}

Graph with_outputs_like(const Graph& a, const Graph& b) {
  if (!same_output_names(a, b)) return b;
  Graph out = b.without_nodes();
  for (const NodeId id : b.order()) {
    out.add(id);
    if (b.is_overridable(id)) out.mark_overridable(id);
  }
  for (const Value& v : b.inputs()) out.add_input(v);
  for (const Value& wanted : a.outputs())
    for (const Value& v : b.outputs())
      if (b.name_of(v) == a.name_of(wanted)) out.add_output(v);
  return out;
}

std::optional<std::string> interface_difference(const Graph& a, const Inference& a_info, const Graph& b,
                                                const Inference& b_info) {
  if (a.outputs().size() != b.outputs().size())
    return fmt::format("the first model has {} outputs, the second {}", a.outputs().size(),
                       b.outputs().size());
  const auto of_a = all_inputs(a), of_b = all_inputs(b);
  for (const auto& [name, value] : of_b)
    if (!of_a.contains(name)) return only_in("second", name);
  for (const auto& [name, value] : of_a) {
    const auto at = of_b.find(name);
    if (at == of_b.end()) return only_in("first", name);
    if (auto difference = input_difference(name, a, value, b, at->second)) return difference;
  }
  for (std::size_t k = 0; k < a.outputs().size(); ++k)
    if (auto difference = output_difference(k, a, a_info, b, b_info)) return difference;
  return std::nullopt;
}

std::optional<std::string> size_difference(const Graph& a, const Inference& a_info, const Graph& b,
                                           const Inference& b_info) {
  const auto of_b = all_inputs(b);
  for (const Value& v : a.inputs()) {
    const auto at = of_b.find(a.name_of(v));
    if (at == of_b.end()) continue;
    const DeclaredType &p = a.node(v.node).declared, &q = b.node(at->second.node).declared;
    if (!p.is_tensor && without_names(p, Numbers::Kept) != without_names(q, Numbers::Kept))
      return fmt::format("input {} is {} in the first model, {} in the second", a.name_of(v), spell(p),
                         spell(q));
    const auto &x = a_info.of(v).shape, &y = b_info.of(at->second).shape;
    if (x != y)
      return fmt::format(
          "input {} has the shape {} in the first model, {} in the second: --shape compares them at "
          "one size",
          a.name_of(v), x ? text(*x) : "?", y ? text(*y) : "?");
  }
  return std::nullopt;
}

}  // namespace isomer
