// Formula: what an operator computes, at given input types and extents; the one text from which its shape,
// its interpreters, its cost, its linearity and (by kernel/normal) its proofs are derived.
//
// A formula is a list of stages, each a tensor given element by element; a stage may read inputs and earlier
// stages (softmax: the maximum, the exponentials, their sum, the quotient). Some stages are the outputs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/expr/expr.h"

namespace isomer {

struct TensorType {
  ElementType type = ElementType::Undefined;
  Dims shape;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};
std::string text(const TensorType& type);  // "float[1, batch, 64]"

struct Stage {
  ElementType type = ElementType::Undefined;
  std::vector<Axis> axes;  // the output position; extents are the shape
  Expr value;
  Dims shape() const;
};

// An assumption of a formula about extents that it cannot decide: this one is >= 0.
struct SizeCondition {
  enum class Kind : std::uint8_t {
    Needed,  // holds wherever the call runs and computes what ONNX says
    Runs,    // where it holds, and the others, the runtime is certain to run the call
    Exact,   // where it holds, the formula says what is computed
  };
  Kind kind = Kind::Needed;
  Dim extent;
  friend bool operator==(const SizeCondition&, const SizeCondition&) = default;
};

// Every element of an input is an index along an axis of this extent, -extent <= i < extent, wherever the
// call runs; or every element at one place of its last axis.
struct IndexRange {
  int input = 0;
  Dim extent;
  std::optional<int> place = {};
};

struct Formula {
  std::vector<std::optional<TensorType>> inputs;  // nullopt: an optional input that is absent
  std::vector<Stage> stages;
  std::vector<int> outputs;  // numbers of stages
  std::vector<SizeCondition> conditions = {};
  std::vector<IndexRange> ranges = {};

  const Stage& output(int k) const {
    return stages[static_cast<std::size_t>(outputs[static_cast<std::size_t>(k)])];
  }
  TensorType output_type(int k) const { return {output(k).type, output(k).shape()}; }
};

std::string text(const Formula& formula);

// Builds a formula. Axes and tensors made by one builder belong to its formula.
class FormulaBuilder {
 public:
  // A tensor that can be read in this formula: x(i, j) is its element, zero outside.
  class Tensor {
   public:
    ElementType type() const { return type_; }
    const Dims& shape() const { return shape_; }
    int rank() const { return static_cast<int>(shape_.size()); }
    const Dim& extent(int axis) const { return shape_[static_cast<std::size_t>(axis)]; }
    Expr at(std::vector<Index> position) const;
    template <class... I>
    Expr operator()(const I&... i) const {
      return at({Index(i)...});
    }

   private:
    friend class FormulaBuilder;
    TensorRef ref_;
    ElementType type_ = ElementType::Undefined;
    Dims shape_;
  };

  explicit FormulaBuilder(std::vector<std::optional<TensorType>> inputs);

  Tensor input(int k) const;
  Axis axis(const Dim& extent);
  std::vector<Axis> axes(const Dims& shape);
  // A stage that later stages may read.
  Tensor stage(std::vector<Axis> axes, const Expr& value);
  // A stage that is the next output.
  Tensor output(std::vector<Axis> axes, const Expr& value);
  Formula finish() &&;

 private:
  Formula formula_;
  int next_axis_ = 0;
};

// The element of x at an output position under numpy's broadcasting: axes aligned at the end, extents of 1
// stretched.
Expr broadcast(const FormulaBuilder::Tensor& x, const std::vector<Axis>& position);
// The common shape of broadcasting; nullopt where it doesn't exist or symbolic extents leave it open.
std::optional<Dims> broadcast_shape(const std::vector<Dims>& shapes);

}  // namespace isomer
