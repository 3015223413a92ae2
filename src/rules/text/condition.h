// Condition: a requirement of a rule on its sizes and enumerated values: `g = 1`, `O1 = O2`, `H is odd`, `H
// >= 3`.
//
// A condition is imposed on an instance of a rule. If the instance already decides it, it holds or the
// instance is excluded; otherwise it is solved: an equation expresses one symbol by the others, so that a
// later proof holds under the condition and for all sizes that satisfy it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/graph/graph.h"
#include "model/graph/text/scanner.h"

namespace isomer {

// An extent as text: sums, differences and products of integers and names.
Result<Dim> parse_dim_expression(Scanner& scanner);

struct Condition {
  enum class Kind : std::uint8_t { Equal, AtLeast, Odd };
  Kind kind = Kind::Equal;
  Dim a, b = 0;      // over names; Odd has no b
  std::string text;  // "O1 = O2"
  static Condition equal(const Dim& a, const Dim& b);
  static Condition at_least(const Dim& a, const Dim& b);
  static Condition odd(const Dim& a);
  friend bool operator==(const Condition& x, const Condition& y) { return x.text == y.text; }
};
using Conditions = std::vector<Condition>;  // all of them

// "A = B", "A >= B", "A is odd".
Result<Condition> parse_condition(Scanner& scanner);
std::string text(const Conditions& conditions);  // "g = 1 and H is odd"

// A rule at one choice of its enumerated values, for all sizes that satisfy the preconditions.
struct RuleInstance {
  std::vector<std::pair<std::string, std::string>> values;  // enumerated name -> as written
  std::map<std::string, Dim, std::less<>> names;            // what conditions may mention
  Graph left, right;
  Dims preconditions;  // each >= 0
};

// Whether a condition holds at all sizes of an instance; nullopt: it depends on them, or is not seen.
std::optional<bool> holds(const Condition& condition, const RuleInstance& instance);

struct Imposed {
  enum class Outcome : std::uint8_t { Kept, Excluded, NotSolved } outcome = Outcome::Kept;
  std::optional<RuleInstance> instance;  // Kept
};
Imposed impose(const Condition& condition, const RuleInstance& instance);
Imposed impose(const Conditions& conditions, const RuleInstance& instance);

}  // namespace isomer
