#include "api/errors.h"
#include "api/report_json.h"
#include "api/stopwatch.h"
#include "pipeline/decide_rules.h"
#include "pipeline/rule_pack.h"

namespace isomer::api {
namespace {

static_assert(
    static_cast<int>(RuleVerdict::Outcome::Proved) == static_cast<int>(DecidedRule::Outcome::Proved) &&
    static_cast<int>(RuleVerdict::Outcome::Conditional) ==
        static_cast<int>(DecidedRule::Outcome::Conditional) &&
    static_cast<int>(RuleVerdict::Outcome::Refuted) == static_cast<int>(DecidedRule::Outcome::Refuted) &&
    static_cast<int>(RuleVerdict::Outcome::Undecided) == static_cast<int>(DecidedRule::Outcome::Undecided));

}  // namespace

DecidedRules prove_rules(const std::filesystem::path& file) {
  return guarded([&] {
    const Stopwatch watch;
    const std::vector<Decided> decided = take(decide_rules(file));
    DecidedRules out{.json = json_text(to_json(decided, watch.ms()))};
    for (const Decided& d : decided) {
      DecidedRule rule{.name = d.rule.name,
                       .outcome = static_cast<DecidedRule::Outcome>(d.verdict.outcome),
                       .why = d.verdict.why};
      if (d.rule.expectation) rule.as_expected = d.as_expected;
      out.rules.push_back(std::move(rule));
    }
    return out;
  });
}

GeneratedRules generate_rules(const std::filesystem::path& file, const GenerateRulesOptions& options) {
  return guarded([&] {
    const Stopwatch watch;
    const rules::GeneratedPack pack =
        take(write_generated_rules(file, {.operators = options.operators,
                                          .threads = options.threads,
                                          .most_terms = options.most_terms,
                                          .stop = options.stop,
                                          .progress = options.progress}));
    return GeneratedRules{.rules = pack.rules,
                          .is_complete = pack.is_complete,
                          .json = json_text(to_json(pack, watch.ms()))};
  });
}

std::string list_rules(const std::filesystem::path& file) {
  return guarded([&] { return json_text(to_json(take(isomer::list_rules(file)))); });
}

std::string derive_rules(const std::filesystem::path& file, const std::filesystem::path& pack, int steps) {
  return guarded([&] {
    const Stopwatch watch;
    const auto derived = take(isomer::derive_rules(file, pack, steps));
    return json_text(to_json(derived, watch.ms()));
  });
}

}  // namespace isomer::api
