#include "compiler/schedule/product_nest.h"

#include <algorithm>

namespace isomer::lower {

bool ProductNest::find() {
  nest_.reduction = main_reduction(nest_.value);
  if (!nest_.reduction) return false;
  const ExprNode& s = sum();
  if (s.reduction != Reduction::Sum || s.type != ElementType::Float || !s.domain.empty()) return false;
  const ExprNode& product = *s.args[0];
  if (product.kind != ExprNode::Kind::Apply || product.fn != Fn::Mul) return false;
  for (const ExprRef& factor : product.args) {
    if (factor->kind != ExprNode::Kind::Read) return false;
    if (storage_of(*factor).type != ElementType::Float) return false;
  }
  choose_sides();
  return wanted_right_ < 0 || right().tensor.number == wanted_right_;
}

// The right factor is the one that is a weight, or else that goes along the target's innermost axis.
void ProductNest::choose_sides() {
  const ExprNode& product = *sum().args[0];
  const auto is_weight = [&](std::size_t k) {
    return storage_of(*product.args[k]).kind == Storage::Kind::Weight;
  };
  left_ = 0;
  if (wanted_right_ >= 0) {
    if (product.args[0]->tensor.number == wanted_right_) left_ = 1;
    return;
  }
  if (is_weight(0) != is_weight(1)) {
    left_ = is_weight(0) ? 1 : 0;
    return;
  }
  const Index target = at_target();
  std::optional<Axis> innermost;
  for (const Axis& a : nest_.axes)
    if (usual(a) > 1 && usual(stride(target, a)) > 0 &&
        (!innermost || usual(stride(target, a)) < usual(stride(target, *innermost))))
      innermost = a;
  if (innermost && mentions(*product.args[0], *innermost) && !mentions(*product.args[1], *innermost))
    left_ = 1;
}

bool ProductNest::meets_image(const Axis& axis, std::int64_t step) const {
  const AxisMap by{{axis.id, Index(step)}};
  for (std::size_t d = 0; d < left().at.size(); ++d) {
    if (!left().at[d].mentions(axis)) continue;
    const auto range = with_axes(left().at[d], by).range();
    if (range && (range->high.at_least(0) == false || range->low.at_least(left().extents[d]) == true))
      return false;
  }
  return true;
}

void ProductNest::trim_windows() {
  const std::vector<Axis> all = sum().axes;
  for (const Axis& axis : all) {
    if (!axis.extent.is_concrete() || extent(axis) > 16) continue;
    std::int64_t low = 0, high = extent(axis);
    while (low < high && !meets_image(axis, low)) ++low;
    while (low < high && !meets_image(axis, high - 1)) --high;
    if (low == high || high - low == extent(axis)) continue;
    const Axis fresh = packing_.numbers().make(high - low);
    const AxisMap by{{axis.id, Index(fresh) + Index(low)}};
    std::vector<Axis> axes = sum().axes;
    std::ranges::replace(axes, axis, fresh);
    reindex(std::move(axes), by);
  }
}

// Replaces axes of the nest's positions and of its value.
void ProductNest::replace_axes(const AxisMap& by) {
  for (Index& i : nest_.at) i = with_axes(i, by);
  nest_.value = with_axes(nest_.value, by, packing_.numbers());
  nest_.reduction = main_reduction(nest_.value);
}

void ProductNest::split_groups() {
  for (int round = 0; round < 4; ++round) {
    const auto found = quotient();
    if (!found) return;
    const auto [axis, divisor] = *found;
    const Axis outer = packing_.numbers().make(*Dim::exact_quotient(axis.extent, divisor)),
               inner = packing_.numbers().make(divisor);
    std::vector<Axis> axes;
    for (const Axis& a : nest_.axes) {
      if (a == axis) axes.insert(axes.end(), {outer, inner});
      else axes.push_back(a);
    }
    nest_.axes = axes;
    replace_axes({{axis.id, Dim(divisor) * Index(outer) + Index(inner)}});
  }
}

std::optional<std::pair<Axis, std::int64_t>> ProductNest::quotient() const {
  for (const ExprNode* read : {&left(), &right()})
    for (const Index& i : read->at)
      for (const Index::Term& t : i.terms()) {
        if (t.atom.kind == Index::AtomKind::Axis) continue;
        const auto axis = t.atom.inner->as_axis();
        const auto divisor = t.atom.divisor.value();
        if (axis && divisor && *divisor > 0 && contains(nest_.axes, *axis) &&
            Dim::exact_quotient(axis->extent, *divisor))
          return std::pair{*axis, *divisor};
      }
  return std::nullopt;
}

void ProductNest::merge_depth() {
  bool merged = true;
  while (merged) {
    merged = false;
    const Index l = at_left();
    for (const Axis& outer : sum().axes) {
      for (const Axis& inner : sum().axes) {
        if (outer == inner || stride(l, outer) != inner.extent * stride(l, inner)) continue;
        fuse_reduced(outer, inner);
        merged = true;
        break;
      }
      if (merged) break;
    }
  }
}

void ProductNest::fuse_reduced(const Axis& outer, const Axis& inner) {
  const Axis fused = packing_.numbers().make(outer.extent * inner.extent);
  std::vector<Axis> axes = sum().axes;
  std::erase_if(axes, [&](const Axis& a) { return a == outer || a == inner; });
  axes.push_back(fused);
  reindex(axes, {{outer.id, Index::floor(Index(fused), inner.extent)},
                 {inner.id, Index::mod(Index(fused), inner.extent)}});
}

// The same sum over other axes.
void ProductNest::reindex(std::vector<Axis> axes, const AxisMap& by) {
  ExprNode changed = sum();
  changed.axes = std::move(axes);
  ExprNode product = *changed.args[0];
  for (ExprRef& factor : product.args) {
    ExprNode f = *factor;
    for (Index& i : f.at) i = with_axes(i, by);
    factor = std::make_shared<const ExprNode>(std::move(f));
  }
  changed.args[0] = std::make_shared<const ExprNode>(std::move(product));
  replace_reduction(nest_, std::move(changed));
}

Axis ProductNest::fuse(const Axis& outer, const Axis& inner) {
  const Axis fused = packing_.numbers().make(outer.extent * inner.extent);
  const AxisMap by{{outer.id, Index::floor(Index(fused), inner.extent)},
                   {inner.id, Index::mod(Index(fused), inner.extent)}};
  std::erase_if(nest_.axes, [&](const Axis& a) { return a == outer || a == inner; });
  nest_.axes.push_back(fused);
  replace_axes(by);
  return fused;
}

void ProductNest::replace_left(const Expr& by) {
  ExprNode product = *sum().args[0];
  product.args[left_] = by.ref();
  ExprNode changed = sum();
  changed.args[0] = std::make_shared<const ExprNode>(std::move(product));
  replace_reduction(nest_, std::move(changed));
}

}  // namespace isomer::lower
