#include "api/errors.h"
#include "api/report_json.h"
#include "api/stopwatch.h"
#include "pipeline/decide_rules.h"

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

}  // namespace isomer::api
