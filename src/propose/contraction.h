// A sum of products of two tensors whose axes carry labels, as one MatMul with the transposes and reshapes
// that it needs: what Einsum says, and what Mul with ReduceSum computes.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "rewrite/program_builder.h"

namespace isomer {

using Labels = std::vector<int>;

struct Operand {
  Value value;
  Labels labels;             // one per axis, each once; an axis of extent 1 may have none: kNoLabel
  bool is_constant = false;  // transposing it costs nothing
};
constexpr int kNoLabel = -1;

// out[...] = Σ a[...] · b[...] over the labels that `out` has not, as a tensor of this shape. nullopt: no
// label is summed, or one that only one of the two has.
std::optional<Value> contract(ProgramBuilder& b, const Operand& left, const Operand& right, const Labels& out,
                              const std::map<int, std::int64_t>& extents,
                              const std::vector<std::int64_t>& shape);

}  // namespace isomer
