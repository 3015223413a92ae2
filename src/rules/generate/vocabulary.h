// Word: an operator with its attributes and constant inputs fixed, so that only its operands are left. One of
// several outputs is a separate word (the first half of a Split).
//
// `vocabulary()` is the one table of the words that rules are generated from, and `families()` has the inputs
// that they start with; both are the same at every depth. The operator's formula defines what a word computes
// and which shapes it accepts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/graph/graph.h"

namespace isomer::rules {

// A word's effect on the last digits of numbers: none, as it moves or compares them; the same for each
// number, as a function; dependent on the order of a sum; another one.
enum class Rounding : std::uint8_t { None, Function, Sum, Otherwise };

struct Word {
  std::string op;
  std::string attributes = {};              // "group = 2, pads = [1, 1, 1, 1]": by name, defaults left out
  std::vector<std::string> constants = {};  // after the operands: "value_ints = [0, 1]"; "": absent
  int operands = 1;
  int output = 0, outputs = 1;

  std::string text() const;  // "Split<axis = 1, num_outputs = 2>#0"; equal texts are equal words
  bool is_commutative() const;
  bool is_elementwise() const;  // of any rank, and operands of one shape give that shape
  Rounding rounding() const;
};

// The word that a node applies for one of its outputs, and its operands. nullopt: constants stand before
// operands, or an attribute is no number, string or list of integers.
struct WordUse {
  Word word;
  std::vector<Value> operands;
};
std::optional<WordUse> word_of(const Graph& graph, Value value);

// The possible uses of a value. Weights are the weights of convolutions; only words that make other weights
// apply to them, since all others are covered by data.
enum class Role : std::uint8_t { Data, Weight };

struct Choice {
  Word word;
  std::array<bool, 2> on = {true, false};  // data, weights: all operands are of one role
  bool takes_weight = false;               // the second operand is a weight, the first one data
  int kernel = 0;                          // that the weight must have; 0: any
  bool of_inputs_only = false;             // a constant, but for its sizes
};
std::span<const Choice> vocabulary();

// Inputs of one shape. Extents in either of two instances.
struct Family {
  std::string_view letter;  // names are x0, x1, ...
  Role role = Role::Data;
  int count = 4;
  std::array<Extents, 2> extents;
};
std::span<const Family> families();

}  // namespace isomer::rules
