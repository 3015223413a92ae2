#include "rules/text/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "model/graph/constant.h"
#include "rules/text/word_text.h"

namespace isomer::rules {
namespace {

// One side of an instance; words are numbered later. nullopt: a node that no pattern can say.
std::optional<PatternSide> side_of(const Graph& graph, const std::map<std::string, int>& variables) {
  PatternSide out;
  std::map<Value, PatternValue> known;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (known_constant(graph, {id, 0})) continue;
    PatternNode made;
    if (node.kind == NodeKind::Input) {
      made.is_variable = true;
      made.number = variables.at(node.outputs[0]);
    } else if (node.kind != NodeKind::Operator || !node.domain.empty() || !node.bodies.empty()) {
      return std::nullopt;
    } else if (node.op == "Identity") {
      const auto at = known.find(node.inputs[0]);
      if (at == known.end()) return std::nullopt;
      known.emplace(Value{id, 0}, at->second);
      continue;
    } else {
      made.op = node.op;
      made.attributes = node.attributes;
      for (const Value& v : node.inputs) {
        PatternInput& input = made.inputs.emplace_back();
        if (!v.exists()) continue;
        if (auto tensor = known_constant(graph, v)) {
          input = {.kind = PatternInput::Kind::Constant, .constant = std::move(*tensor)};
        } else {
          input = {.kind = PatternInput::Kind::Operand, .operand = known.at(v)};
        }
      }
      made.outputs = static_cast<std::uint32_t>(node.outputs.size());
    }
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
      known.emplace(Value{id, k}, PatternValue{static_cast<std::uint32_t>(out.nodes.size()), k});
    out.nodes.push_back(std::move(made));
  }
  for (const Value& v : graph.outputs()) {
    const auto at = known.find(v);
    if (at == known.end()) return std::nullopt;
    out.outputs.push_back(at->second);
  }
  return out;
}

// Per node, whether an output needs it.
std::vector<bool> needed_nodes(const PatternSide& side) {
  std::vector<bool> out(side.nodes.size());
  for (const PatternValue& v : side.outputs) out[v.node] = true;
  for (std::size_t i = side.nodes.size(); i-- > 0;)
    if (out[i])
      for (const PatternValue& v : side.nodes[i].operands()) out[v.node] = true;
  return out;
}

std::set<int> variables_of(const PatternSide& side) {
  const std::vector<bool> needed = needed_nodes(side);
  std::set<int> out;
  for (std::size_t i = 0; i < side.nodes.size(); ++i)
    if (needed[i] && side.nodes[i].is_variable) out.insert(side.nodes[i].number);
  return out;
}

// Operator, attributes and constants, as text.
std::string word_text(const PatternNode& node) {
  std::string out = fmt::format("{}/{}", node.op, node.outputs);
  for (const Attribute& a : node.attributes.all()) {
    const auto spelled = spelled_attribute(a);
    if (is_default(a)) continue;
    out += fmt::format("<{}>", spelled ? *spelled : a.name);
  }
  for (const PatternInput& input : node.inputs) {
    if (input.kind == PatternInput::Kind::Absent) out += "[]";
    if (input.kind != PatternInput::Kind::Constant) continue;
    const auto spelled = spelled_constant(input.constant);
    out += fmt::format("[{}]", spelled ? *spelled : "?");
  }
  return out;
}

void number_words(PatternSide& from, PatternSide& to) {
  std::map<std::string, int> words;
  for (PatternNode& node : from.nodes)
    if (!node.is_variable)
      node.number = words.emplace(word_text(node), static_cast<int>(words.size())).first->second;
  for (PatternNode& node : to.nodes) {
    if (node.is_variable) continue;
    const auto at = words.find(word_text(node));
    node.number = at == words.end() ? kLiteral : at->second;
  }
}

// A side as text, without what the graph will say: variables by first use, words by number.
std::string side_text(const PatternSide& side, std::map<int, std::size_t>& variables) {
  std::string out;
  for (const PatternNode& node : side.nodes) {
    if (node.is_variable) {
      out += fmt::format("x{};", variables.emplace(node.number, variables.size()).first->second);
      continue;
    }
    out += node.number == kLiteral ? word_text(node)
                                   : fmt::format("{}/{}@{}", node.op, node.outputs, node.number);
    for (const PatternInput& input : node.inputs)
      out += input.kind == PatternInput::Kind::Operand
                 ? fmt::format(" {}.{}", input.operand.node, input.operand.output)
                 : " c";
    out += ';';
  }
  for (const PatternValue& v : side.outputs) out += fmt::format("=>{}.{}", v.node, v.output);
  return out;
}

// Without what no output needs.
PatternSide needed_part(const PatternSide& side) {
  const std::vector<bool> needed = needed_nodes(side);
  PatternSide out;
  std::vector<std::uint32_t> to(side.nodes.size());
  for (std::size_t i = 0; i < side.nodes.size(); ++i) {
    if (!needed[i]) continue;
    to[i] = static_cast<std::uint32_t>(out.nodes.size());
    out.nodes.push_back(side.nodes[i]);
    for (PatternInput& input : out.nodes.back().inputs) input.operand.node = to[input.operand.node];
  }
  for (const PatternValue& v : side.outputs) out.outputs.push_back({to[v.node], v.output});
  return out;
}

Pattern keyed(Pattern pattern) {
  pattern.from = needed_part(pattern.from);
  pattern.to = needed_part(pattern.to);
  number_words(pattern.from, pattern.to);
  std::map<int, std::size_t> variables;
  pattern.key = side_text(pattern.from, variables) + " -> " + side_text(pattern.to, variables);
  if (pattern.is_divided) pattern.key += fmt::format(" / {}", pattern.axis);
  return pattern;
}

// The parts of a concatenation that share a variable: where they are found, nothing need concatenate them.
std::optional<Pattern> divided(const Pattern& whole) {
  if (whole.from.outputs.size() != 1) return std::nullopt;
  const PatternNode& root = whole.from.nodes[whole.from.outputs[0].node];
  if (root.op != "Concat" || root.is_variable) return std::nullopt;
  Pattern out = whole;
  out.is_divided = true;
  if (const auto* axis = root.attributes.find_as<std::int64_t>("axis")) out.axis = *axis;
  out.from.outputs = root.operands();
  std::set<int> shared;
  for (const PatternValue& v : out.from.outputs) {
    if (out.from.nodes[v.node].is_variable) return std::nullopt;
    PatternSide part = whole.from;
    part.outputs = {v};
    const std::set<int> here = variables_of(part);
    if (v == out.from.outputs[0]) shared = here;
    else std::erase_if(shared, [&](int variable) { return !here.contains(variable); });
  }
  return shared.empty() ? std::nullopt : std::optional(keyed(std::move(out)));
}

}  // namespace

bool PatternNode::is_commutative() const {
  return inputs.size() == 2 && operands().size() == 2 &&
         (op == "Add" || op == "Mul" || op == "Max" || op == "Min");
}

std::vector<PatternValue> PatternNode::operands() const {
  std::vector<PatternValue> out;
  for (const PatternInput& input : inputs)
    if (input.kind == PatternInput::Kind::Operand) out.push_back(input.operand);
  return out;
}

std::vector<Pattern> patterns_of(const Rule& rule) {
  std::vector<Pattern> out;
  std::set<std::string> keys;
  const auto add = [&](Pattern pattern) {
    if (keys.insert(pattern.key).second) out.push_back(std::move(pattern));
  };
  for (const RuleInstance& instance : rule.instances) {
    std::map<std::string, int> variables;
    for (const Value& v : instance.left.inputs())
      variables.emplace(instance.left.node(v.node).outputs[0], static_cast<int>(variables.size()));
    const auto left = side_of(instance.left, variables), right = side_of(instance.right, variables);
    if (!left || !right) continue;
    for (const auto& [from, to] : {std::pair(&*left, &*right), std::pair(&*right, &*left)}) {
      const bool finds_something = std::ranges::none_of(
          from->outputs, [&](const PatternValue& v) { return from->nodes[v.node].is_variable; });
      if (!finds_something || !std::ranges::includes(variables_of(*from), variables_of(*to))) continue;
      Pattern whole = keyed({.rule = rule.name, .from = *from, .to = *to});
      if (auto parts = divided(whole)) add(std::move(*parts));
      add(std::move(whole));
    }
  }
  return out;
}

}  // namespace isomer::rules
