// Rule: two programs claimed equal, as text that people write and read (docs/reference/rules.md).
//
//   rule conv_enlarge                                # 3×3 convolution = 5×5 with a border of zeros
//   for k, p = 1 0, 3 1                              # $k and $p stand for these, in turn
//   require H >= 3
//   given float[N, C, H, W] x, float[O, C, $k, $k] w # extents: sums and products of integers and names
//   left  { y = Conv<pads = [$p, $p, $p, $p]>(x, w) } => y
//   right { ... } => y
//   expect requires k = 1
//
// Bodies are in ONNX's text syntax. The parts of a rule may also stand on one line, apart by ';'. A rule here
// only claims; prove_rule.h decides.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/text/condition.h"

namespace isomer {

struct Expectation {
  enum class Kind : std::uint8_t { Proved, Requires, Refuted } kind = Kind::Proved;
  Conditions conditions = {};  // of Requires
};

struct Rule {
  std::string name;
  int line = 0;
  std::vector<std::string> enumerated;  // names that `for` lines give values
  std::vector<RuleInstance> instances;  // one for each choice of them, in order
  std::optional<Expectation> expectation;
};

// Error: "line 3: ..." or "line 3, column 7: ...".
Result<std::vector<Rule>> parse_rules(std::string_view text);

}  // namespace isomer
