#include "model/ops/shared/reduced_axes.h"

#include <algorithm>

namespace isomer {

ReducedAxes ReducedAxes::only(const Dims& shape, int axis) {
  std::vector<bool> reduced(shape.size(), false);
  reduced[static_cast<std::size_t>(axis)] = true;
  return {shape, std::move(reduced)};
}

ReducedAxes ReducedAxes::from(const Dims& shape, int first) {
  std::vector<bool> reduced(shape.size(), true);
  std::fill_n(reduced.begin(), first, false);
  return {shape, std::move(reduced)};
}

Dims ReducedAxes::kept() const {
  Dims out = shape_;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (reduced_[i]) out[i] = 1;
  return out;
}

Dims ReducedAxes::dropped() const {
  Dims out;
  for (std::size_t i = 0; i < shape_.size(); ++i)
    if (!reduced_[i]) out.push_back(shape_[i]);
  return out;
}

Dims ReducedAxes::extents() const {
  Dims out;
  for (std::size_t i = 0; i < shape_.size(); ++i)
    if (reduced_[i]) out.push_back(shape_[i]);
  return out;
}

bool ReducedAxes::is_empty() const { return product(extents()).is(0); }

Expr ReducedAxes::count(ElementType type) const {
  const Dim n = product(extents());
  return n.is_concrete() ? integer(type, n.concrete()) : index_number(Index(n), type);
}

std::vector<Index> ReducedAxes::along(std::vector<Index> p, const std::vector<Axis>& r) const {
  for (std::size_t i = 0, next = 0; i < p.size(); ++i)
    if (reduced_[i]) p[i] = r[next++];
  return p;
}

std::vector<Index> ReducedAxes::squash(std::vector<Index> p) const {
  for (std::size_t i = 0; i < p.size(); ++i)
    if (reduced_[i]) p[i] = 0;
  return p;
}

std::vector<Index> ReducedAxes::widen(const std::vector<Index>& p) const {
  std::vector<Index> out;
  for (std::size_t i = 0, next = 0; i < shape_.size(); ++i) out.push_back(reduced_[i] ? Index(0) : p[next++]);
  return out;
}

std::vector<Index> ReducedAxes::reduced_part(const std::vector<Index>& p) const {
  std::vector<Index> out;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (reduced_[i]) out.push_back(p[i]);
  return out;
}

FormulaBuilder::Tensor reduce_stage(FormulaBuilder& f, const ReducedAxes& over, Reduction reduction,
                                    const Body& body) {
  const auto p = f.axes(over.kept()), r = f.axes(over.extents());
  return f.stage(p, reduce(reduction, r, body(over.along(to_indices(p), r))));
}

FormulaBuilder::Tensor mean_stage(FormulaBuilder& f, const ReducedAxes& over, const Body& body) {
  const auto p = f.axes(over.kept()), r = f.axes(over.extents());
  const Expr total = sum(r, body(over.along(to_indices(p), r)));
  return f.stage(p, total / over.count(total.type()));
}

FormulaBuilder::Tensor root_mean_square_stage(FormulaBuilder& f, const ReducedAxes& over, const Body& body,
                                              double epsilon) {
  const auto p = f.axes(over.kept()), r = f.axes(over.extents());
  const Expr x = body(over.along(to_indices(p), r));
  const Expr total = sum(r, x * x);
  return f.stage(p, apply(Fn::Sqrt, {total / over.count(total.type()) + epsilon}));
}

}  // namespace isomer
