// The second witness: both programs evaluated over a finite field, at inputs and sizes that it chooses.
//
// It shares only the formulas with the set algebra. Inputs are pseudo-random functions of (tensor,
// coordinate) under a key; functions obey their laws (model/eval/field.h). Symbolic sizes are instantiated
// several times with small numbers; large concrete programs are shrunk where all shapes allow it; every
// position of such an instance is compared.
#pragma once

#include <string>

#include "kernel/normal/by_value.h"
#include "kernel/prove/verdict.h"
#include "model/graph/graph.h"

namespace isomer {

struct WitnessOptions {
  std::uint64_t key = 1;
  Dims preconditions = {};
  // These constants keep their values, as do integers; the others are drawn, by content.
  ByValue by_value = {};
  bool keep_signs = false;  // constants that are positive are drawn positive
  // The proof used that numbers are ordered, which no finite field is: where the field does not agree,
  // both programs are compared in float64 instead.
  bool ordered = false;
  double most_operations = 3e6;  // of one evaluation; a hundred times more where nothing can be shrunk
};

struct WitnessReport {
  enum class Outcome : std::uint8_t { Agree, Differ, NotTested } outcome = Outcome::NotTested;
  FieldTest test;
  std::string what;  // where it differs, or why nothing was tested
};

WitnessReport field_witness(const Graph& a, const Graph& b, const WitnessOptions& options);

}  // namespace isomer
