// ReducedAxes: a shape of which some axes are reduced; what the Reduce operators, the softmaxes and the
// normalizations share.
//
// A position has one index per axis of the shape; the result of a reduction keeps the rank, with extent 1 on
// reduced axes.
#pragma once

#include <functional>
#include <vector>

#include "model/ops/shared/define.h"

namespace isomer {

class ReducedAxes {
 public:
  ReducedAxes(Dims shape, std::vector<bool> reduced)
      : shape_(std::move(shape)), reduced_(std::move(reduced)) {}
  static ReducedAxes only(const Dims& shape, int axis);
  static ReducedAxes from(const Dims& shape, int first);  // that axis and all after it

  const Dims& shape() const { return shape_; }
  Dims kept() const;      // the shape with 1 on the reduced axes
  Dims dropped() const;   // the shape without the reduced axes
  Dims extents() const;   // of the reduced axes
  bool is_empty() const;  // whether one of these is known to be zero
  // The number of elements that one result is made of, as a number of the type.
  Expr count(ElementType type) const;
  // A position with its reduced axes replaced by r, or by 0.
  std::vector<Index> along(std::vector<Index> p, const std::vector<Axis>& r) const;
  std::vector<Index> squash(std::vector<Index> p) const;
  // A position in kept() from one in dropped().
  std::vector<Index> widen(const std::vector<Index>& p) const;
  // A position's indices on the reduced axes.
  std::vector<Index> reduced_part(const std::vector<Index>& p) const;

 private:
  Dims shape_;
  std::vector<bool> reduced_;
};

// The reduced expression at a position of the shape.
using Body = std::function<Expr(const std::vector<Index>& position)>;
// Stages of shape kept(): the body's reduction over the reduced axes; its mean; sqrt(mean of its square +
// epsilon).
FormulaBuilder::Tensor reduce_stage(FormulaBuilder& f, const ReducedAxes& over, Reduction reduction,
                                    const Body& body);
FormulaBuilder::Tensor mean_stage(FormulaBuilder& f, const ReducedAxes& over, const Body& body);
FormulaBuilder::Tensor root_mean_square_stage(FormulaBuilder& f, const ReducedAxes& over, const Body& body,
                                              double epsilon);

}  // namespace isomer
