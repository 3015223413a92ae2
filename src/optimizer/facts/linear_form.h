// A value as a sum of products of other values, each read at positions that are affine in the value's own
// position and in summed indices:
//
//   y[o] = Σ_terms scale · Σ_r Π_factors v[affine(o, r)]
//
// It begins as the value itself, y[o] = y[o]; a factor is replaced by its producer's formula, as long as that
// is a sum of products too. Reshapes split axes, concatenations become sums over parts, repeated elements
// become factors that do not contain an axis. Nothing here is trusted.
#pragma once

#include <optional>
#include <vector>

#include "optimizer/facts/site.h"

namespace isomer {

struct LinearFactor {
  Value value;
  std::vector<Index> at;    // per axis of the value
  bool is_inverse = false;  // 1 / value
};

struct LinearTerm {
  double scale = 1;
  std::vector<Axis> summed = {};
  std::vector<LinearFactor> factors = {};
  Domain domain = {};  // where the term is not zero; empty once the form is final
};

struct LinearForm {
  std::vector<std::vector<Axis>> axes;  // per axis of the value: what it is split into, outer axes first
  std::vector<LinearTerm> terms;
  int next_axis = 0;
};

// The value itself; nullopt: its shape is not known.
std::optional<LinearForm> linear_form(const Site& site, Value value);

// With the formula of this factor's producer in place of the factor; nullopt: that is no sum of products, or
// positions would be more than affine, or windows.
std::optional<LinearForm> expanded(const Site& site, const LinearForm& form, Value factor);

// The positions that a factor reads along one of its value's axes: every `step`-th from `begin` on, as many
// as the labels have together, outer labels first.
struct LabelledAxis {
  std::int64_t begin = 0, step = 1;
  bool is_whole = true;
  std::vector<Axis> labels;
};
// Per axis of the factor's value; nullopt: two indices overlap (a window), or one is used twice.
std::optional<std::vector<LabelledAxis>> labelled(const Site& site, const LinearFactor& factor);

}  // namespace isomer
