// Contraction: Σ_r a[f(p, r)] · b[g(p, r)] as a batch of matrix products, through one blocked, vectorised
// kernel.
//
// Internal to Program. Output axes that only a sees are rows, those that only b sees are columns, those that
// both see are the batch; summed axes are the depth. Convolutions, poolings by weights, MatMul, Gemm and
// Einsum are all this. Elements are gathered into packed panels by tables of offsets, one table per class of
// axes, so that windows, strides, padding and groups cost nothing in the kernel. Blocking as in Goto and van
// de Geijn, "Anatomy of high-performance matrix multiplication".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/expr/formula.h"

namespace isomer {

// The partial index of every point of one class of axes: an offset into the tensor, and one coordinate per
// axis of the tensor that can leave it.
struct OffsetTable {
  std::int64_t points = 0;
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> guarded;  // points × guards
};

struct ContractionOperand {
  TensorRef tensor;
  OffsetTable batch, own, depth;            // own: rows of a, columns of b
  std::vector<std::int64_t> guard_extents;  // extents of the guarded axes
};

class Contraction {
 public:
  // nullopt where the stage isn't a sum of products of two reads, or an index mixes classes of axes inside a
  // floor.
  static std::optional<Contraction> compile(const Stage& stage);

  ElementType type() const { return type_; }
  TensorRef left() const { return a_.tensor; }
  TensorRef right() const { return b_.tensor; }
  // `a`, `b` and `out` hold elements of the compute type. Zeros are skipped where that changes no bit of the
  // result; multiplied, for tests: all of them, but for rows of nothing.
  enum class Zeros : std::uint8_t { Skipped, Multiplied };
  void run(const void* a, const void* b, void* out, Zeros zeros = Zeros::Skipped) const;

 private:
  template <class T>
  void run_typed(const T* a, const T* b, T* out, Zeros zeros) const;

  ElementType type_ = ElementType::Undefined;
  ContractionOperand a_, b_;
  OffsetTable out_batch_, out_rows_, out_columns_;  // offsets into the output
};

}  // namespace isomer
