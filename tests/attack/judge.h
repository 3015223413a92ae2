// Each witness of the prover alone, on one pair of formulas, and the truth from the oracle.
#pragma once

#include <string>
#include <vector>

#include "attack/exact.h"
#include "attack/random_program.h"
#include "kernel/normal/normal_form.h"

namespace isomer::attack {

struct Case {
  std::vector<Extents> inputs;
  Formula a, b;
};
Case written(const Pair& pair, std::uint64_t seed);

struct Truth {
  bool equal = false;           // at every position, where both are defined
  bool defined = false;         // where the first is defined, so is the second
  std::vector<bool> different;  // by position
  std::vector<Exact> a, b;
};
Truth truth_of(Oracle& oracle, const Case& c);
// Whether the two differ as numbers at some drawn input, with the functions that programs are run with.
bool differ_as_numbers(Oracle& oracle, const Truth& truth);

struct SetsVerdict {
  bool proved = false;  // equal, and the second defined where the first is
  bool equal = false;
  bool undecided = false;  // a budget, or a shape out of reach
  std::string why;
  // For unproved_positions, if requested: wrong claims.
  bool misses_a_difference = false, wrongly_exact = false, exact = false;
};
SetsVerdict judge_sets(const Case& c, bool laws, const Budget& budget, const Truth* positions_of = nullptr);

enum class FieldVerdict : std::uint8_t { Agree, Differ, NotTested };
FieldVerdict judge_field(const Case& c, std::uint64_t key);

}  // namespace isomer::attack
