// Mutants: programs that compute almost the same as one or two consecutive convolutions: all positions except
// some, if the programs are right at all. The caller finds out where they are wrong
// (optimizer/propose/positions/partial/partial.cpp). The idea is PET's (Wang et al., "PET: Optimizing Tensor
// Programs with Partially Equivalent Transformations and Automated Corrections", 2021).
#pragma once

#include <string>
#include <vector>

#include "optimizer/facts/site.h"

namespace isomer {

struct Mutant {
  std::string what;
  Value from, to;  // of the graph: what it reads beside constants, and what it is almost equal to
  Graph program;   // reads the graph's values by name; one output, of the shape of `to`; one convolution
  bool is_arithmetic = false;  // it multiplies other numbers, not the same ones laid out otherwise
};

// All mutants of the computation that ends in this node, or only those of a kind that was seen to gain
// (tests/evidence/partial_examples.py).
enum class Mutations : std::uint8_t { All, Likely };
std::vector<Mutant> mutants_of(const Site& site, NodeId id, Mutations mutations = Mutations::All);

}  // namespace isomer
