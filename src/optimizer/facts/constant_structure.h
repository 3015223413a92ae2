// The structure in the bytes of a constant: slices that are zero or repeat, blocks along a diagonal, one
// number per column, kernels that are products. For constants of floats; a dense one is rejected after a few
// reads per slice.
//
// Nothing here is trusted: a claim that uses such a fact states it (ConstantFact), and the bytes are checked.
#pragma once

#include <optional>
#include <vector>

#include "model/expr/tensor.h"

namespace isomer {

// Along one axis.
struct SliceFacts {
  // Slices outside of begin, begin + step, ... < end are zero; begin = end: all are.
  std::int64_t begin = 0, end = 0, step = 1;
  // The axis is [.., times, unit], and the slices are the same whatever the place along `times`. Runs of
  // equal slices have a unit of 1; slices that come again and again have one that fills the axis.
  std::int64_t times = 1, unit = 1;
  friend bool operator==(const SliceFacts&, const SliceFacts&) = default;
};

// Zero but where both axes are in the same of `count` classes. A class of an axis is a run of neighbours, or,
// if it is `inner`, every count-th slice.
struct Blocks {
  std::int64_t count = 1;
  bool a_inner = false, b_inner = false;
};

// For a matrix [k, n] with one number per column: y[n] = scale[n] · x[from[n]].
struct Selection {
  std::vector<std::int64_t> from;
  std::vector<float> scale;
  bool is_plain() const;  // all scales are 1
};

// Which slices along an axis of a constant of floats are zero.
std::vector<bool> zero_slices(const Tensor& tensor, std::size_t axis);

class ConstantStructure {
 public:
  // nullopt: no floats, or too small to gain by.
  static std::optional<ConstantStructure> of(const Tensor& tensor);

  const Tensor& tensor() const { return tensor_; }
  const Extents& extents() const { return tensor_.extents(); }
  const SliceFacts& axis(std::size_t k) const { return axes_[k]; }
  bool has_zeros() const { return has_zeros_; }  // every tenth number or more, as far as was looked
  // Whether slices are zero or repeat, or there are many zeros, or it may be kernels of single channels.
  bool has_any() const;

  // The most blocks along the diagonal of two axes: by runs, or by classes of another kind if these are more.
  Blocks blocks(std::size_t a, std::size_t b) const;
  // Whether these blocks, of a matrix, are all the same one.
  bool has_equal_blocks(std::size_t a, std::size_t b, const Blocks& blocks) const;
  // A matrix that depends on the difference of its positions only, and is zero beyond a band: w[i, j] =
  // taps[i - j - first].
  struct Band {
    std::int64_t first = 0;
    std::vector<float> taps;
  };
  std::optional<Band> band(std::size_t a, std::size_t b) const;
  // The constant as a matrix of two axes, all others of one element.
  std::optional<Selection> selection(std::size_t k, std::size_t n) const;
  // Whether w[.., i at a, .., j at b, ..] is 1 for i <= j and 0 elsewhere: sums of all that came before.
  bool is_running_sum(std::size_t a, std::size_t b) const;
  // The last two axes as products, column times row, for each position of the others, to the last digit:
  // `column` has the extents with 1 at the end, `row` those with 1 before it.
  struct Product {
    Tensor column, row;
  };
  std::optional<Product> product() const;

 private:
  explicit ConstantStructure(const Tensor& tensor);
  bool is_zero(std::size_t axis, std::int64_t at) const;
  bool is_equal(std::size_t axis, std::int64_t a, std::int64_t b) const;
  SliceFacts slices(std::size_t axis) const;
  std::vector<bool> support(std::size_t a, std::size_t b) const;
  float at(std::int64_t offset) const { return numbers_[static_cast<std::size_t>(offset)]; }
  std::int64_t extent(std::size_t axis) const { return tensor_.extents()[axis]; }

  Tensor tensor_;
  std::span<const float> numbers_;
  Extents strides_;
  std::vector<SliceFacts> axes_;
  bool has_zeros_ = false;
};

}  // namespace isomer
