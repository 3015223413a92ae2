#include "rules/text/prove_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kernel/prove/lemma.h"
#include "kernel/prove/refute.h"
#include "kernel/prove/shrink.h"
#include "model/graph/text/text.h"

namespace isomer {
namespace {

// Conditions that a rule may have; beyond it pairs would take minutes.
constexpr std::size_t kMostSingles = 120;

bool has_symbols(const std::vector<Dim>& column) {
  return std::ranges::any_of(column, [](const Dim& d) { return !d.is_concrete(); });
}

// The name's value in every instance; nullopt where it isn't an extent in one of them.
std::optional<std::vector<Dim>> column_of(const Rule& rule, const std::string& name) {
  std::vector<Dim> out;
  for (const RuleInstance& i : rule.instances) {
    const auto at = i.names.find(name);
    if (at == i.names.end()) return std::nullopt;
    out.push_back(at->second);
  }
  return out;
}

// The candidates for a rule's precondition, the most natural first.
Conditions lattice(const Rule& rule) {
  Conditions out;
  std::vector<std::string> numbers, dims;
  std::set<std::string> symbols;
  for (const RuleInstance& i : rule.instances)
    for (const auto& [name, dim] : i.names) symbols.insert(name);
  for (const std::string& name : rule.enumerated) {
    symbols.erase(name);
    if (const auto column = column_of(rule, name)) (has_symbols(*column) ? dims : numbers).push_back(name);
  }
  dims.insert(dims.end(), symbols.begin(), symbols.end());
  // A condition that all instances satisfy, or none, says nothing.
  const auto add = [&](Condition c) {
    bool may_hold = false, may_fail = false;
    for (const RuleInstance& i : rule.instances) {
      const auto known = holds(c, i);
      may_hold = may_hold || known != false;
      may_fail = may_fail || known != true;
    }
    if (may_hold && may_fail) out.push_back(std::move(c));
  };
  const auto sym = [](const std::string& name) { return Dim::symbol(name); };
  for (const std::string& v : numbers) add(Condition::equal(sym(v), 1));
  for (const std::string& v : numbers) add(Condition::equal(sym(v), 0));
  for (const auto* names : {&numbers, &dims})
    for (std::size_t i = 0; i < names->size(); ++i)
      for (std::size_t k = i + 1; k < names->size(); ++k)
        add(Condition::equal(sym((*names)[i]), sym((*names)[k])));
  for (const std::string& d : dims) add(Condition::equal(sym(d), 1));
  for (const std::string& v : numbers) add(Condition::odd(sym(v)));
  for (const std::string& d : dims) add(Condition::odd(sym(d)));
  if (out.size() > kMostSingles) out.resize(kMostSingles);
  return out;
}

class RuleProver {
 public:
  RuleProver(const Rule& rule, const Budget& budget) : rule_(rule), budget_(budget) {}

  RuleVerdict run() {
    RuleVerdict out;
    for (std::size_t i = 0; i < rule_.instances.size(); ++i) {
      const RuleInstance& instance = rule_.instances[i];
      const Verdict verdict = decide(instance);
      if (std::holds_alternative<Proved>(verdict)) continue;
      failing_ = i;
      if (const auto* refuted = std::get_if<Refuted>(&verdict)) {
        out.counterexample = {.values = instance.values, .refuted = *refuted};
        break;
      }
      if (out.why.empty()) out.why = described(instance, std::get<NotDecided>(verdict).why);
    }
    if (!failing_) {
      out.outcome = RuleVerdict::Outcome::Proved;
      return out;
    }
    // Without a counterexample a precondition would be no more than what we can prove.
    if (!out.counterexample) return out;
    out.outcome = RuleVerdict::Outcome::Refuted;
    search(out);
    if (!out.weakest.empty()) out.outcome = RuleVerdict::Outcome::Conditional;
    return out;
  }

 private:
  static std::string described(const RuleInstance& instance, const std::string& what) {
    std::string values;
    for (const auto& [name, value] : instance.values) values += fmt::format("{} = {}, ", name, value);
    return values.empty() ? what : values.substr(0, values.size() - 2) + ": " + what;
  }

  Verdict decide(const RuleInstance& instance) {
    Verdict verdict = prove_with_lemma(
        instance.left, instance.right,
        {.preconditions = instance.preconditions, .refute = find_counterexample, .budget = budget_});
    if (std::holds_alternative<WitnessesDisagree>(verdict))
      return NotDecided{described(instance, text(verdict))};
    return verdict;
  }

  // Whether a few small sizes, evaluated mod p, show a difference; cheap.
  static bool differs(const RuleInstance& instance) {
    const Verdict verdict =
        prove_equal(instance.left, instance.right, {.preconditions = instance.preconditions, .sets = false});
    return !std::holds_alternative<Proved>(verdict);
  }

  // Proved in all instances that the conditions leave, of which there is one.
  bool is_enough(const Conditions& conditions) {
    std::vector<RuleInstance> left;
    std::set<std::string> seen;
    // The instance that is known to fail says no first.
    for (std::size_t k = 0; k < rule_.instances.size(); ++k) {
      const std::size_t i = k == 0 ? *failing_ : k <= *failing_ ? k - 1 : k;
      Imposed imposed = impose(conditions, rule_.instances[i]);
      if (imposed.outcome == Imposed::Outcome::NotSolved) return false;
      if (imposed.outcome == Imposed::Outcome::Excluded) continue;
      RuleInstance& kept = *imposed.instance;
      if (!seen.insert(text(kept.left) + text(kept.right) + text(kept.preconditions)).second) continue;
      if (differs(kept)) return false;
      left.push_back(std::move(kept));
    }
    const auto holds_at = [&](const RuleInstance& i) { return std::holds_alternative<Proved>(decide(i)); };
    return !left.empty() && std::ranges::all_of(left, holds_at);
  }

  bool implies(const Conditions& stronger, const Conditions& weaker) const {
    for (const RuleInstance& i : rule_.instances) {
      const Imposed imposed = impose(stronger, i);
      if (imposed.outcome == Imposed::Outcome::Excluded) continue;
      if (imposed.outcome == Imposed::Outcome::NotSolved) return false;
      for (const Condition& c : weaker)
        if (holds(c, *imposed.instance) != true) return false;
    }
    return true;
  }

  void keep_weakest(std::vector<Conditions>& found) const {
    std::vector<Conditions> kept;
    for (std::size_t i = 0; i < found.size(); ++i) {
      bool needed = true;
      for (std::size_t k = 0; k < found.size() && needed; ++k) {
        if (k == i || !implies(found[i], found[k])) continue;
        needed = implies(found[k], found[i]) && i < k;  // of two that say the same, the first
      }
      if (needed) kept.push_back(found[i]);
    }
    found = std::move(kept);
  }

  void search(RuleVerdict& out) {
    const Conditions singles = lattice(rule_);
    for (const Condition& c : singles)
      if (is_enough({c})) out.weakest.push_back({c});
    if (out.weakest.empty())
      for (std::size_t i = 0; i < singles.size(); ++i)
        for (std::size_t k = i + 1; k < singles.size(); ++k)
          if (is_enough({singles[i], singles[k]})) out.weakest.push_back({singles[i], singles[k]});
    keep_weakest(out.weakest);
  }

  const Rule& rule_;
  const Budget budget_;
  std::optional<std::size_t> failing_;
};

}  // namespace

RuleVerdict prove_rule(const Rule& rule) { return RuleProver(rule, {}).run(); }

RuleVerdict prove_candidate(const Rule& rule) {
  return RuleProver(rule, {.set_operations = kCandidateSetOperations}).run();
}

bool is_as_expected(const Rule& rule, const RuleVerdict& verdict) {
  if (!rule.expectation) return true;
  using Outcome = RuleVerdict::Outcome;
  switch (rule.expectation->kind) {
    case Expectation::Kind::Proved: return verdict.outcome == Outcome::Proved;
    case Expectation::Kind::Refuted: return verdict.outcome == Outcome::Refuted;
    case Expectation::Kind::Requires: break;
  }
  if (verdict.outcome != Outcome::Conditional) return false;
  return std::ranges::any_of(verdict.weakest, [&](const Conditions& found) {
    return std::ranges::is_permutation(found, rule.expectation->conditions);
  });
}

}  // namespace isomer
