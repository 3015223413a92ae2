#include "app/rules/user_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/rules/rule_pack.h"

namespace isomer {
namespace {

using Outcome = RuleVerdict::Outcome;

Result<std::vector<std::filesystem::path>> files_of(const std::filesystem::path& place) {
  std::error_code failure;
  if (!std::filesystem::is_directory(place, failure)) return std::vector{place};
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(place, failure))
    if (entry.path().extension() == ".rules") out.push_back(entry.path());
  if (failure) return Error{fmt::format("can't read {}: {}", place.string(), failure.message())};
  if (out.empty()) return Error{fmt::format("{} has no file that ends in .rules", place.string())};
  std::ranges::sort(out);
  return out;
}

}  // namespace

Result<UserRules> read_user_rules(const std::filesystem::path& place) {
  ISOMER_TRY(const auto files, files_of(place));
  UserRules out;
  std::string text;
  for (const std::filesystem::path& file : files) {
    ISOMER_TRY(std::vector<Decided> decided, decide_rules(file));
    ISOMER_TRY(const std::vector<ListedRule> listed, list_rules(file));
    for (std::size_t i = 0; i < decided.size(); ++i) {
      if (decided[i].verdict.outcome != Outcome::Refuted) text += listed[i].text;
      out.decided.push_back(std::move(decided[i]));
    }
  }
  out.book = std::make_shared<const rules::RuleBook>(text);
  return out;
}

std::string remark(const Decided& rule) {
  const RuleVerdict& verdict = rule.verdict;
  const std::string& name = rule.rule.name;
  const std::string example =
      verdict.counterexample ? ": for example, " + example_text(*verdict.counterexample) : "";
  switch (verdict.outcome) {
    case Outcome::Proved: return "";
    case Outcome::Refuted: return fmt::format("rule {} is false and is not used{}", name, example);
    case Outcome::Conditional:
      return fmt::format("rule {} is used only where {}{}", name, text(verdict.weakest[0]), example);
    case Outcome::Undecided: break;
  }
  return fmt::format("rule {} is not proved for all sizes; it is used only where it can be proved", name);
}

}  // namespace isomer
