// The prover's answer: are two programs equal for all inputs?
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/graph/interpret.h"

namespace isomer {

// An assumption of a proof about a constant: its sign, which the code that applies the step checks on the
// bytes.
struct ValueFact {
  std::string initializer;  // of the first program
  bool positive = false;
};

// How the second witness saw it: points at which both programs were evaluated mod p.
struct FieldTest {
  std::int64_t points = 0;
  bool whole = false;       // every position, of an instance of this size
  bool polynomial = false;  // then a difference would be missed with probability <= degree · points / p
};

struct Proved {
  FieldTest field;
  std::vector<ValueFact> facts;
  bool expanded_constants = false;  // small constants took part by value
  bool used_laws = false;
  int attempt = 0;  // number of the attempt that proved it (prove.cpp)
};

// An input on which both were evaluated in float64 and differ by far more than rounding can explain.
struct Refuted {
  NamedTensors feeds;
  int output = 0;
  Extents position;
  double a = 0, b = 0;
};

// Why, as people read it. `positions`: the elements that no proof covers, as a set, where that is why.
struct NotDecided {
  std::string why;
  std::string positions = {};
};
inline constexpr std::string_view kNoProof = "neither a proof nor a counterexample was found";

// The two witnesses disagree: one of them has a bug. Nothing is known of the programs then.
struct WitnessesDisagree {
  std::string what;
};

using Verdict = std::variant<Proved, Refuted, NotDecided, WitnessesDisagree>;
std::string text(const Verdict& verdict);

}  // namespace isomer
