// A sum of products of two tensors whose axes carry labels, as one MatMul with the transposes and reshapes
// that it needs: for Einsum, and for Mul with ReduceSum.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "model/expr/dim.h"
#include "model/graph/program_builder.h"
#include "optimizer/facts/machine.h"

namespace isomer {

using Labels = std::vector<int>;
// The extent of each label, and how large named ones are.
struct LabelSizes : std::map<int, Dim> {
  explicit LabelSizes(const Machine& where) : machine(&where) {}
  const Machine* machine;
};

// Where a named extent can be read: an axis of a value.
struct Place {
  Dim extent;
  Value value;
  std::size_t axis = 0;
};

struct Operand {
  Value value;
  Labels labels;             // one per axis, each once; an axis of extent 1 may have none: kNoLabel
  bool is_constant = false;  // transposing it costs nothing
  // The shape that the value has, where that is not yet the one that its labels have; the elements are the
  // same, in the same order.
  std::optional<Dims> shape = {};
  std::vector<Place> places = {};
};
constexpr int kNoLabel = -1;

bool has(const Labels& labels, int label);
// The labels of `order` that are present, in this order.
Labels only_of(const Labels& order, const Labels& present);
double typical_count(const Labels& labels, const LabelSizes& extents);
Dims shape_of(const Labels& labels, const LabelSizes& extents);

// The same elements in another shape; nullopt: Reshape cannot say it for all sizes.
std::optional<Value> reshaped(ProgramBuilder& b, Value value, const Dims& from, const Dims& to);
// The same where extents may be read: if Reshape's own rules do not say them at all sizes, they are.
std::optional<Value> reshaped(ProgramBuilder& b, Value value, const Dims& from, const Dims& to,
                              const std::vector<Place>& places);

// The operand's value in the shape that its labels have.
std::optional<Value> with_axes_of_labels(ProgramBuilder& b, const Operand& operand,
                                         const LabelSizes& extents);

// The operand with its axes in this order, to be broadcast: axes that it has not have extent 1, or are left
// out in front. All of its labels are in the order.
std::optional<Value> aligned(ProgramBuilder& b, const Operand& operand, const Labels& order,
                             const LabelSizes& extents);

// out[...] = Σ a[...] · b[...] over the labels that `out` has not. nullopt: no label is summed, or one that
// only one of the two has, or Reshape cannot say it for all sizes.
std::optional<Operand> contract(ProgramBuilder& b, const Operand& left, const Operand& right,
                                const Labels& out, const LabelSizes& extents);

}  // namespace isomer
