// Decides a rule: proved for all sizes, or under the weakest precondition in the lattice below and with a
// counterexample without it, or refuted, or undecided.
//
// The lattice has conditions on an enumerated value v: v = 1, v = 0, v is odd, v = another one. And on a
// dimension: dim = 1, dim is odd, dim = another one; enumerated dimensions (channels per group) among them.
// Single conditions come first; pairs of them if no single one is sufficient. Weakest: not implied by another
// sufficient one.
#pragma once

#include "kernel/prove/verdict.h"
#include "rules/text/rule.h"

namespace isomer {

// An input at which the two sides of a rule differ.
struct RuleCounterexample {
  std::vector<std::pair<std::string, std::string>> values;  // of the enumerated names
  Refuted refuted;
};

struct RuleVerdict {
  enum class Outcome : std::uint8_t { Proved, Conditional, Refuted, Undecided } outcome = Outcome::Undecided;
  std::vector<Conditions> weakest = {};  // Conditional: each of them is enough
  std::optional<RuleCounterexample> counterexample = {};
  std::string why = {};  // Undecided
};

RuleVerdict prove_rule(const Rule& rule);

// As prove_rule, for candidates of an enumeration, within a 64th of the operations on sets: most of the time
// goes into what is not proved. Loses two rules of 3 operators (MaxPools).
inline constexpr std::uint64_t kCandidateSetOperations = std::uint64_t{1} << 16;
RuleVerdict prove_candidate(const Rule& rule);

// Whether a verdict is what the rule's text expects; true where it expects nothing.
bool is_as_expected(const Rule& rule, const RuleVerdict& verdict);

}  // namespace isomer
