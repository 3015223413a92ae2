// A pairing: how two whole models are equal, value by value, for the checker to follow.
//
// Both models are swept in the order of the second (kernel/prove/sweep.h): nodes that do the same to equal
// values are equal, and each equation is a pair of values that is proved. Differently folded constants come
// first: a constant is, except for rounding, the result of a program over constants.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kernel/prove/sweep.h"
#include "model/graph/infer.h"

namespace isomer {

// A value that the first model doesn't compute, but may be said to: one of its values, transposed or sliced.
struct MovedValue {
  std::string name, of;
  std::vector<std::int64_t> perm;  // of a transposition; or, where that is empty:
  Extents begin, step;             // of a slice
};

struct StatedConstant {
  Side side = Side::B;
  std::string name;
  Graph program;  // its inputs are constants of the other model, by name
};

struct Equation {
  std::string a, b;
  std::vector<std::string> open = {};  // values of the first model that the proof looks behind
  std::uint64_t work = 0;              // set operations that it may take
  std::optional<int> attempt = {};     // the way to put the question that answered it
  bool at_end = false;                 // after all nodes of the second model were looked at
};

struct Pairing {
  bool by_position = false;  // outputs, even if both models have the same names of them
  std::vector<MovedValue> moved;
  std::vector<StatedConstant> constants;
  std::vector<Equation> equations;
};

// The two models as they are swept: calls of functions and known Ifs written out, the moved values added to
// the first, dimensions of the second named as the first names them.
struct ModelPair {
  Graph a, b;  // a without what its outputs don't need, b with all of its nodes and its outputs as a has them
  Inference a_info, b_info;
  std::vector<Value> moved;  // in a
  // The first model with the nodes that its outputs don't need.
  Graph whole_a;
  Inference whole_a_info;
};

struct PairFailure {
  std::string why;
  bool is_difference = false;  // the models are not equal, whatever they compute
};

std::variant<ModelPair, PairFailure> paired(const Graph& first, const Graph& second, bool by_position,
                                            const std::vector<MovedValue>& moved = {});

// The assumptions of a proof of two models, besides the sets.
struct PairedReport {
  std::optional<std::string> refusal;  // none: the models are equal
  std::optional<int> equation;         // that was refused
  int equations = 0;
  std::int64_t points = 0;  // mod p
  int constants_rounded = 0, constants_restated = 0, constants_moved = 0;
  double worst_ulp = 0;
  // Outputs of the first model and of the second that were compared, where their names are not the same.
  std::vector<std::pair<std::string, std::string>> renamed = {};
};

PairedReport check_pairing(const Graph& first, const Graph& second, const Pairing& pairing,
                           std::uint64_t key);

}  // namespace isomer
