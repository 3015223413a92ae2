#include "model/expr/formula.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace isomer {

std::string text(const TensorType& type) { return fmt::format("{}{}", name(type.type), text(type.shape)); }

Dims Stage::shape() const {
  Dims out;
  for (const Axis& a : axes) out.push_back(a.extent);
  return out;
}

std::string text(const Formula& formula) {
  std::string out;
  for (std::size_t k = 0; k < formula.stages.size(); ++k) {
    const Stage& s = formula.stages[k];
    std::string axes;
    for (const Axis& a : s.axes)
      axes += fmt::format("{}a{}<{}", axes.empty() ? "" : ", ", a.id, a.extent.text());
    out += fmt::format("s{}[{}] : {} = {}\n", k, axes, name(s.type), text(s.value));
  }
  for (const SizeCondition& c : formula.conditions)
    out += fmt::format("{} {} >= 0\n",
                       c.kind == SizeCondition::Kind::Needed ? "needs"
                       : c.kind == SizeCondition::Kind::Runs ? "runs if"
                                                             : "exact if",
                       c.extent.text());
  for (const IndexRange& r : formula.ranges)
    out += fmt::format("i{}{} indexes {}\n", r.input, r.place ? fmt::format("[{}]", *r.place) : "",
                       r.extent.text());
  return out;
}

FormulaBuilder::FormulaBuilder(std::vector<std::optional<TensorType>> inputs) {
  formula_.inputs = std::move(inputs);
}

FormulaBuilder::Tensor FormulaBuilder::input(int k) const {
  const auto& type = formula_.inputs.at(static_cast<std::size_t>(k));
  ISOMER_CHECK(type.has_value(), "an absent input is not read");
  Tensor t;
  t.ref_ = {.kind = TensorRef::Kind::Input, .number = k};
  t.type_ = type->type;
  t.shape_ = type->shape;
  return t;
}

Axis FormulaBuilder::axis(const Dim& extent) { return {.id = next_axis_++, .extent = extent}; }

std::vector<Axis> FormulaBuilder::axes(const Dims& shape) {
  std::vector<Axis> out;
  for (const Dim& d : shape) out.push_back(axis(d));
  return out;
}

FormulaBuilder::Tensor FormulaBuilder::stage(std::vector<Axis> axes, const Expr& value) {
  Tensor t;
  t.ref_ = {.kind = TensorRef::Kind::Stage, .number = static_cast<int>(formula_.stages.size())};
  t.type_ = value.type();
  for (const Axis& a : axes) t.shape_.push_back(a.extent);
  formula_.stages.push_back({.type = value.type(), .axes = std::move(axes), .value = value});
  return t;
}

FormulaBuilder::Tensor FormulaBuilder::output(std::vector<Axis> axes, const Expr& value) {
  formula_.outputs.push_back(static_cast<int>(formula_.stages.size()));
  return stage(std::move(axes), value);
}

Formula FormulaBuilder::finish() && {
  ISOMER_CHECK(!formula_.outputs.empty(), "a formula has an output");
  return std::move(formula_);
}

Expr FormulaBuilder::Tensor::at(std::vector<Index> position) const {
  return read(ref_, type_, shape_, std::move(position));
}

// The extent of a slice of one position: 1, or 0 if the axis is empty. It broadcasts to the axis.
static bool is_first_of(const Dim& extent, const Dim& axis) { return extent == Dim::min(Dim(1), axis); }

Expr broadcast(const FormulaBuilder::Tensor& x, const std::vector<Axis>& position) {
  ISOMER_CHECK(position.size() >= x.shape().size());
  const std::size_t lead = position.size() - x.shape().size();
  std::vector<Index> at;
  for (std::size_t i = 0; i < x.shape().size(); ++i) {
    const Dim& extent = x.shape()[i];
    const Axis& axis = position[lead + i];
    if (extent.is(1)) at.emplace_back(0);
    else if (extent == axis.extent) at.emplace_back(axis);
    else if (is_first_of(extent, axis.extent)) at.emplace_back(0);
    else
      at.push_back(
          Index::mod(axis, extent));  // 1 or the full extent, not known which: either way the axis mod it
  }
  return x.at(std::move(at));
}

std::optional<Dims> broadcast_shape(const std::vector<Dims>& shapes) {
  std::size_t rank = 0;
  for (const Dims& s : shapes) rank = std::max(rank, s.size());
  Dims out(rank, Dim(1));
  for (const Dims& s : shapes) {
    for (std::size_t i = 0; i < s.size(); ++i) {
      Dim& a = out[rank - s.size() + i];
      const Dim& b = s[i];
      if (a == b || b.is(1) || is_first_of(b, a)) continue;
      if (a.is(1) || is_first_of(a, b)) a = b;
      else if (a.is_concrete() && b.is_concrete()) return std::nullopt;
      // One of them is symbolic: 1 or equal to the other, so the other, if that is concrete, is the result.
      else if (a.is_concrete()) continue;
      else if (b.is_concrete()) a = b;
      else a = Dim::max(a, b);
    }
  }
  return out;
}

}  // namespace isomer
