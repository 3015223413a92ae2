// Pattern: one direction of a rule, to be matched in a graph and rewritten.
//
// It keeps what the rule computes and ignores where it was proved: a *word*, an operator with its attributes
// and constants, matches the corresponding word of the graph, on both sides alike. `Concat` along axis 0 of
// two rectified matrices is then `Concat` along any axis of two rectified tensors. That is a guess and may be
// false: each use is proved at its site like any other proposal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rules/text/rule.h"

namespace isomer::rules {

// An output of a node of a pattern.
struct PatternValue {
  std::uint32_t node = 0, output = 0;
  friend bool operator==(const PatternValue&, const PatternValue&) = default;
};

struct PatternInput {
  enum class Kind : std::uint8_t { Operand, Constant, Absent } kind = Kind::Absent;
  PatternValue operand = {};
  Tensor constant = {};
};

struct PatternNode {
  bool is_variable = false;
  // The number of a variable or of one of `from`'s nodes; for `to`'s nodes the same number if the word is one
  // of `from`, or kLiteral.
  int number = 0;
  std::string op = {};
  Attributes attributes = {};
  std::vector<PatternInput> inputs = {};
  std::uint32_t outputs = 1;

  bool is_commutative() const;
  std::vector<PatternValue> operands() const;
};
constexpr int kLiteral = -1;

// Operands come before what reads them. Variables have equal numbers on both sides.
struct PatternSide {
  std::vector<PatternNode> nodes;
  std::vector<PatternValue> outputs;
};

struct Pattern {
  std::string rule;  // its name
  PatternSide from, to;
  // `from` is a concatenation of which only the parts are to be found: `to` is divided along this axis.
  bool is_divided = false;
  std::int64_t axis = 0;
  std::string key = {};  // equal for patterns that find and write the same
};

// The patterns of all instances in both directions, each once, if every variable of `to` is in `from`.
std::vector<Pattern> patterns_of(const Rule& rule);

}  // namespace isomer::rules
