#include "rules/text/widened.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace isomer::rules {
namespace {

using Renaming = std::map<int, int>;  // of variables

// The renaming that makes one value of a side into another; nullopt: there is none.
std::optional<Renaming> renaming_of(const PatternSide& side, PatternValue from, PatternValue to) {
  Renaming out;
  std::vector<std::pair<PatternValue, PatternValue>> open{{from, to}};
  while (!open.empty()) {
    const auto [a, b] = open.back();
    open.pop_back();
    const PatternNode &x = side.nodes[a.node], &y = side.nodes[b.node];
    if (x.is_variable != y.is_variable || a.output != b.output) return std::nullopt;
    if (x.is_variable) {
      const auto [known, is_new] = out.emplace(x.number, y.number);
      if (known->second != y.number) return std::nullopt;
      continue;
    }
    if (x.number != y.number || x.op != y.op || x.inputs.size() != y.inputs.size()) return std::nullopt;
    const auto of_x = x.operands(), of_y = y.operands();
    if (of_x.size() != of_y.size()) return std::nullopt;
    for (std::size_t k = 0; k < of_x.size(); ++k) open.emplace_back(of_x[k], of_y[k]);
  }
  return out;
}

class Widening {
 public:
  Widening(const Pattern& pattern, std::size_t parts) : old_(pattern), parts_(parts) {}

  std::shared_ptr<const Pattern> run() {
    const PatternValue whole = old_.from.outputs[0];
    std::vector<PatternValue> two = old_.from.outputs;
    if (!old_.is_divided) {
      const PatternNode& root = old_.from.nodes[whole.node];
      if (two.size() != 1 || root.op != "Concat") return nullptr;
      two = root.operands();
    }
    if (two.size() != 2) return nullptr;
    const auto renaming = renaming_of(old_.from, two[0], two[1]);
    if (!renaming || !number_variables(*renaming)) return nullptr;
    Pattern out{.rule = old_.rule, .from = {}, .to = {}, .is_divided = old_.is_divided, .axis = old_.axis};
    std::vector<PatternValue> made;
    made.reserve(parts_);
    for (std::size_t k = 0; k < parts_; ++k) made.push_back(copied(old_.from, two[0], k, out.from));
    if (old_.is_divided) out.from.outputs = made;
    else out.from.outputs = {joined(old_.from.nodes[whole.node], made, out.from)};
    for (const PatternValue& v : old_.to.outputs) {
      const auto result = written(v, out.to);
      if (!result) return nullptr;
      out.to.outputs.push_back(*result);
    }
    return std::make_shared<const Pattern>(std::move(out));
  }

 private:
  // Variables of the first part that others have another one for, and those of the parts to come.
  bool number_variables(const Renaming& renaming) {
    int next = 0;
    for (const PatternSide* side : {&old_.from, &old_.to})
      for (const PatternNode& node : side->nodes)
        if (node.is_variable) next = std::max(next, node.number + 1);
    for (const auto& [a, b] : renaming)
      if (a != b) {
        first_.insert(a);
        second_.insert(b);
        numbers_[a] = {a, b};
      }
    for (auto& [a, numbers] : numbers_)
      for (std::size_t k = 2; k < parts_; ++k) numbers.push_back(next++);
    return !first_.empty() && std::ranges::none_of(second_, [&](int v) { return first_.contains(v); });
  }

  std::set<int> variables_of(const PatternSide& side, PatternValue v) const {
    std::set<int> out;
    std::vector<std::uint32_t> open{v.node};
    while (!open.empty()) {
      const PatternNode& node = side.nodes[open.back()];
      open.pop_back();
      if (node.is_variable) out.insert(node.number);
      for (const PatternValue& operand : node.operands()) open.push_back(operand.node);
    }
    return out;
  }
  bool has(const std::set<int>& variables, const std::set<int>& some) const {
    return std::ranges::any_of(variables, [&](int v) { return some.contains(v); });
  }

  // A value that is written in the words of the first part, as the k-th one has it.
  PatternValue copied(const PatternSide& side, PatternValue v, std::size_t k, PatternSide& out) const {
    PatternNode node = side.nodes[v.node];
    if (node.is_variable) {
      if (const auto at = numbers_.find(node.number); at != numbers_.end()) node.number = at->second[k];
      for (std::uint32_t i = 0; i < out.nodes.size(); ++i)
        if (out.nodes[i].is_variable && out.nodes[i].number == node.number) return {i, 0};
    }
    for (PatternInput& input : node.inputs)
      if (input.kind == PatternInput::Kind::Operand) input.operand = copied(side, input.operand, k, out);
    out.nodes.push_back(std::move(node));
    return {static_cast<std::uint32_t>(out.nodes.size() - 1), v.output};
  }

  static PatternValue joined(PatternNode node, const std::vector<PatternValue>& values, PatternSide& out) {
    node.inputs.clear();
    if (node.op == "Concat") {
      for (const PatternValue& v : values)
        node.inputs.push_back({.kind = PatternInput::Kind::Operand, .operand = v});
      out.nodes.push_back(std::move(node));
      return {static_cast<std::uint32_t>(out.nodes.size() - 1), 0};
    }
    PatternValue sum = values[0];
    for (std::size_t k = 1; k < values.size(); ++k) {
      node.inputs = {{.kind = PatternInput::Kind::Operand, .operand = sum},
                     {.kind = PatternInput::Kind::Operand, .operand = values[k]}};
      out.nodes.push_back(node);
      sum = {static_cast<std::uint32_t>(out.nodes.size() - 1), 0};
    }
    return sum;
  }

  // A value of the other side; nullopt: it speaks of one part alone.
  std::optional<PatternValue> written(PatternValue v, PatternSide& out) const {
    const std::set<int> used = variables_of(old_.to, v);
    const bool of_first = has(used, first_), of_second = has(used, second_);
    if (!of_first && !of_second) return copied(old_.to, v, 0, out);
    const PatternNode& node = old_.to.nodes[v.node];
    if (!of_first || !of_second) return std::nullopt;
    const std::vector<PatternValue> operands = node.operands();
    const bool joins = operands.size() == 2 && (node.op == "Concat" || node.is_commutative());
    if (joins) {
      const auto renaming = renaming_of(old_.to, operands[0], operands[1]);
      const bool is_alike =
          renaming && std::ranges::all_of(*renaming, [&](const auto& pair) {
            const auto at = numbers_.find(pair.first);
            return at == numbers_.end() ? pair.first == pair.second : pair.second == at->second[1];
          });
      if (is_alike && has(variables_of(old_.to, operands[0]), first_)) {
        std::vector<PatternValue> made;
        made.reserve(parts_);
        for (std::size_t k = 0; k < parts_; ++k) made.push_back(copied(old_.to, operands[0], k, out));
        return joined(node, made, out);
      }
    }
    PatternNode copy = node;
    for (PatternInput& input : copy.inputs) {
      if (input.kind != PatternInput::Kind::Operand) continue;
      const auto operand = written(input.operand, out);
      if (!operand) return std::nullopt;
      input.operand = *operand;
    }
    out.nodes.push_back(std::move(copy));
    return PatternValue{static_cast<std::uint32_t>(out.nodes.size() - 1), v.output};
  }

  const Pattern& old_;
  std::size_t parts_;
  std::set<int> first_, second_;
  std::map<int, std::vector<int>> numbers_;  // of a variable of the first part, in all of them
};

}  // namespace

std::shared_ptr<const Pattern> widened(const Pattern& pattern, std::size_t parts) {
  return Widening(pattern, parts).run();
}

}  // namespace isomer::rules
