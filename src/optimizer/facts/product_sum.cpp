#include "optimizer/facts/product_sum.h"

#include <algorithm>

#include "model/expr/reads.h"

namespace isomer {
namespace {

using Kind = ProductSum::Kind;

// The position at which an input is read, and the axes that are summed there; nullopt: not read once.
struct Reading {
  std::vector<Index> at;
  std::vector<Axis> summed;
};

std::optional<Reading> only_reading(const Formula& formula, int input) {
  std::optional<Reading> out;
  int count = 0;
  std::vector<Axis> around;
  for_each_read(*formula.stages[0].value, around, [&](const ExprNode& read, const std::vector<Axis>& axes) {
    if (read.tensor.kind != TensorRef::Kind::Input || read.tensor.number != input) return;
    out = Reading{read.at, axes};
    ++count;
  });
  return count == 1 ? out : std::nullopt;
}

int place_of(const std::vector<Axis>& axes, const Axis& axis) {
  const auto at = std::ranges::find(axes, axis);
  return at == axes.end() ? -1 : static_cast<int>(at - axes.begin());
}

ProductSum::AxisUse use_of(const Index& index, const Dim& extent, const Reading& x,
                           const std::vector<Axis>& output) {
  if (extent.is(1)) return {.kind = Kind::Unit};
  const auto axis = index.as_axis();
  if (!axis || axis->extent != extent) return {};
  int at = -1;
  for (std::size_t d = 0; d < x.at.size(); ++d) {
    if (!x.at[d].mentions(*axis)) continue;
    if (at >= 0) return {};
    at = static_cast<int>(d);
  }
  const int place = place_of(output, *axis);
  if (place >= 0) return at < 0 ? ProductSum::AxisUse{Kind::Free, -1, place} : ProductSum::AxisUse{};
  if (at < 0 || place_of(x.summed, *axis) < 0) return {};
  const Index& there = x.at[static_cast<std::size_t>(at)];
  if (there.as_axis()) return {Kind::Contracted, at, -1};
  // Groups are no windows: what they read jumps.
  const bool is_affine = std::ranges::all_of(
      there.terms(), [](const Index::Term& t) { return t.atom.kind == Index::AtomKind::Axis; });
  const auto axes = there.axes();
  const auto other = std::ranges::find_if(axes, [&](const Axis& a) { return place_of(output, a) >= 0; });
  if (!is_affine || axes.size() != 2 || other == axes.end()) return {};
  return {Kind::Window, at, place_of(output, *other)};
}

bool replaces_one_axis(const ProductSum& p, const Reading& x, const std::vector<Axis>& output) {
  const auto k = p.only(Kind::Contracted), n = p.only(Kind::Free);
  if (!k || !n || x.at.size() != output.size()) return false;
  const bool is_plain = std::ranges::all_of(p.axes, [](const ProductSum::AxisUse& u) {
    return u.kind == Kind::Unit || u.kind == Kind::Free || u.kind == Kind::Contracted;
  });
  if (!is_plain || p.axes[*k].x != p.axes[*n].y) return false;
  for (std::size_t d = 0; d < x.at.size(); ++d) {
    if (static_cast<int>(d) == p.axes[*k].x) continue;
    const Index here = x.at[d].substitute(
        [&](const Axis& a) { return place_of(x.summed, a) >= 0 && a.extent.is(1) ? Index(0) : Index(a); });
    if (here.is_constant() && output[d].extent.is(1)) continue;
    const auto axis = here.as_axis();
    if (!axis || place_of(output, *axis) != static_cast<int>(d)) return false;
  }
  return true;
}

// The value added beside the product; false: an unsupported one.
bool read_bias(const Site& site, const Formula& formula, int x, int w, ProductSum& out) {
  const Node& node = site.node(out.id);
  const auto roles = axis_roles(formula, 0);
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    if (static_cast<int>(k) == x || static_cast<int>(k) == w || !node.inputs[k].exists()) continue;
    if (k != 2 || !formula.inputs[k]) return false;
    out.bias = node.inputs[k];
    const std::size_t rank = formula.inputs[k]->shape.size();
    for (std::size_t d = 0; d < rank; ++d) {
      if (roles[k].axes[d] != AxisRole::Parallel) continue;
      const int axis = roles[k].output_axis[d];
      if (axis == static_cast<int>(out.rank - rank + d)) continue;
      if (rank != 1) return false;
      out.bias_axis = axis;
    }
  }
  return true;
}

}  // namespace

std::optional<std::size_t> ProductSum::only(Kind kind) const {
  std::optional<std::size_t> out;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (axes[k].kind != kind) continue;
    if (out) return std::nullopt;
    out = k;
  }
  return out;
}

std::optional<ProductSum> product_sum_at(const Site& site, NodeId id) {
  const Node& node = site.node(id);
  if (node.kind != NodeKind::Operator || node.inputs.size() < 2 || node.inputs.size() > 3)
    return std::nullopt;
  const int w = site.is_constant(node.inputs[1]) ? 1 : 0, x = 1 - w;
  if (!node.inputs[0].exists() || !node.inputs[1].exists() ||
      !site.is_constant(node.inputs[static_cast<std::size_t>(w)]) ||
      site.is_constant(node.inputs[static_cast<std::size_t>(x)]))
    return std::nullopt;
  for (const char* scale : {"alpha", "beta"})
    if (const auto* factor = node.attributes.find_as<float>(scale); factor != nullptr && *factor != 1)
      return std::nullopt;
  const auto formula = site.formula(id);
  if (!formula || formula->stages.size() != 1 || !is_float(formula->output(0).type)) return std::nullopt;
  if (linearity(*formula, 0, w) == Linearity::Nonlinear ||
      linearity(*formula, 0, w) == Linearity::Independent ||
      linearity(*formula, 0, x) == Linearity::Nonlinear)
    return std::nullopt;
  const auto of_x = only_reading(*formula, x), of_w = only_reading(*formula, w);
  if (!of_x || !of_w || of_w->summed.empty()) return std::nullopt;
  const std::vector<Axis>& output = formula->stages[0].axes;
  ProductSum out{.id = id,
                 .x = node.inputs[static_cast<std::size_t>(x)],
                 .constant = node.inputs[static_cast<std::size_t>(w)],
                 .axes = {},
                 .sizes = {},
                 .rank = output.size()};
  const Dims& shape = formula->inputs[static_cast<std::size_t>(w)]->shape;
  const auto sizes = concrete(shape);
  if (!sizes || !read_bias(site, *formula, x, w, out)) return std::nullopt;
  out.sizes = *sizes;
  for (std::size_t d = 0; d < shape.size(); ++d)
    out.axes.push_back(use_of(of_w->at[d], shape[d], *of_x, output));
  out.is_matrix = replaces_one_axis(out, *of_x, output);
  return out;
}

}  // namespace isomer
