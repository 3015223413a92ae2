#include "app/rules/decide_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>

#include "app/rules/rule_pack.h"
#include "base/nearest_word.h"
#include "model/ops/operator.h"
#include "model/ops/schemas.h"

namespace isomer {
namespace {

// An unknown operator is a typing error, and not a reason for "undecided".
Status check_operators(const Rule& rule) {
  std::vector<std::string> known;
  for (const Operator* op : all_operators()) known.emplace_back(op->name);
  for (const RuleInstance& instance : rule.instances)
    for (const Graph* side : {&instance.left, &instance.right})
      for (const NodeId id : side->order()) {
        const Node& node = side->node(id);
        if (node.kind != NodeKind::Operator || is_standard_operator(node.domain, node.op) ||
            find_operator(node.domain, node.op))
          continue;
        const std::string meant = nearest(node.op, known);
        return Error{fmt::format("rule {}, line {}: there is no operator {}{}", rule.name, rule.line, node.op,
                                 meant.empty() ? "" : fmt::format("; did you mean {}?", meant))};
      }
  return Done{};
}

}  // namespace

std::string example_text(const RuleCounterexample& example) {
  std::vector<std::string> where;
  for (const auto& [name, value] : example.values) where.push_back(fmt::format("{} = {}", name, value));
  for (const auto& [name, tensor] : example.refuted.feeds)
    where.push_back(fmt::format("{} [{}]", name, fmt::join(tensor.extents(), ", ")));
  return fmt::format("{}: output {} at [{}] is {:g} on the left, {:g} on the right", fmt::join(where, ", "),
                     example.refuted.output, fmt::join(example.refuted.position, ", "), example.refuted.a,
                     example.refuted.b);
}

Result<std::vector<Decided>> decide_rules(const std::filesystem::path& file) {
  ISOMER_TRY(RulesFile read, read_rules(file));
  for (const Rule& rule : read.rules)
    if (const Status known = check_operators(rule); !known.ok())
      return Error{fmt::format("{}: {}", file.string(), known.error().message)};
  std::vector<Decided> out;
  for (Rule& rule : read.rules) {
    const auto begun = std::chrono::steady_clock::now();
    RuleVerdict verdict = prove_rule(rule);
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begun;
    const bool as_expected = is_as_expected(rule, verdict);
    out.push_back({std::move(rule), std::move(verdict), spent.count(), as_expected});
  }
  return out;
}

}  // namespace isomer
