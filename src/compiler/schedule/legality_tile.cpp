// Checks tiles of products: every axis has its place, and the packed factor is the one that the product
// reads.
#include <algorithm>

#include "compiler/loops/compose.h"
#include "compiler/loops/fused_axes.h"
#include "compiler/schedule/bfloat16.h"
#include "compiler/schedule/legality_parts.h"

namespace isomer::lower {
namespace {

// Sums that wait for the next piece are on the stack.
constexpr std::int64_t kMostWaiting = std::int64_t{1} << 20;
std::int64_t waiting_bytes(const Tile& t) {
  if (t.chunk <= 0) return 0;
  if (!t.rows.extent.is_concrete() && !t.outer_rows.empty()) return kMostWaiting + 1;
  const std::int64_t rows = t.rows.extent.value().value_or(t.block);
  return 4 * t.group * t.width * (t.outer_rows.empty() ? std::min(rows, t.block) : rows * t.block);
}

bool steps_evenly(const Storage& s, const Nest& nest, const ExprNode& left) {
  Index address;
  for (std::size_t d = 0; d < left.at.size(); ++d) {
    if (s.ring == 0 || d != s.ring_axis) address = address + s.strides[d] * left.at[d];
    // Where rows go round, a tile is of one row.
    else if (!nest.strip || !are_same_axes(left.at[d].axes(), {nest.strip->rows})) return false;
  }
  address = address.recombine();
  return std::ranges::all_of(address.terms(),
                             [](const Index::Term& term) { return term.atom.kind == Index::AtomKind::Axis; });
}

Wrong wrong_packing(const Plan& plan, const Nest& nest, const ExprNode& right, const SetSpace& space) {
  const Tile& t = *nest.tile;
  AxisMap by;
  std::size_t k = 0;
  const auto put = [&](const Index& index) {
    if (k < t.packed_axes.size()) by[t.packed_axes[k].id] = index;
    ++k;
  };
  for (const Axis& a : t.kept) put(Index(a));
  put(Index::floor(Index(t.columns), t.width));
  for (const Axis& a : t.outer) put(Index(a));
  put(Index(t.depth));
  put(Index::mod(Index(t.columns), t.width));
  if (k != t.packed_axes.size()) return "the packed factor has other axes";
  const Dims packed = extents_of(t.packed_axes);
  const Storage& stored = plan.buffer(t.right);
  if (!is_paired(stored) && stored.type != ElementType::Float) return "the packed factor is of another type";
  if (stored.extents != (is_paired(stored) ? paired_extents(packed) : packed))
    return "the packed factor is of another shape";
  const ExprNode* source = t.packed_value.ref().get();
  if (source->kind == ExprNode::Kind::Cases) source = source->cases[0].value.get();
  if (source->kind != ExprNode::Kind::Read) return "the packed factor is no read";
  std::vector<Axis> axes = axes_of(nest);
  AxisMap single;
  for (const Axis& a : axes)
    if (a.extent.is(1)) single[a.id] = Index(0);
  std::vector<Index> from, wanted;
  for (const Index& i : source->at) from.push_back(with_axes(with_axes(i, by), single));
  for (const Index& i : right.at) wanted.push_back(with_axes(i, single));
  // Both over the same axes.
  Positions both{.axes = axes, .at = from};
  both.at.insert(both.at.end(), wanted.begin(), wanted.end());
  both = unfuse(std::move(both));
  const auto behind = both.at.begin() + static_cast<std::ptrdiff_t>(from.size());
  if (!(access(space, both.axes, {both.at.begin(), behind}, {}) ==
        access(space, both.axes, {behind, both.at.end()}, {})))
    return "what is packed is not what the product reads";
  return std::nullopt;
}

}  // namespace

// Every axis has its place among the tile's loops, once; the left factor goes in equal steps; what is
// packed, read at the tile's position, is what the product reads.
Wrong wrong_tile(const Plan& plan, const Nest& nest, const SetSpace& space) {
  const Tile& t = *nest.tile;
  std::vector<Axis> kept = t.batch, reduced = t.outer;
  kept.insert(kept.end(), t.outer_rows.begin(), t.outer_rows.end());
  kept.insert(kept.end(), {t.rows, t.columns});
  reduced.push_back(t.depth);
  if (!are_same_axes(kept, nest.axes) || !are_same_axes(reduced, nest.reduction->axes))
    return "the tile leaves out an axis";
  const ExprNode& product = *nest.reduction->args[0];
  const ExprNode &left = *product.args[t.left_first ? 0 : 1], &right = *product.args[t.left_first ? 1 : 0];
  if (left.tensor.number != t.left || t.width <= 0 || t.block <= 0 || t.chunk < 0)
    return "the tile is of another product";
  if (t.group <= 0 || waiting_bytes(t) > kMostWaiting)
    return "the tile's sums take more memory than a stack has";
  for (std::size_t d = 0; d < left.at.size(); ++d)
    if (!stays_inside(plan.buffer(t.left), d, left.at[d])) return "the tile reads outside of its left factor";
  if (!steps_evenly(plan.buffer(t.left), nest, left)) return "the left factor does not go in equal steps";
  if (is_paired(plan.buffer(t.right)))
    if (auto wrong = illegal_pairs(t, stride(address_of(plan.buffer(t.left), left.at), t.depth)))
      return wrong;
  return wrong_packing(plan, nest, right, space);
}

Wrong wrong_winograd(const Plan& plan, const Nest& nest) {
  const Winograd& w = *nest.winograd;
  if (plan.buffer(w.left).ring > 0) return "windows of several rows are read where rows go round";
  std::vector<Axis> kept = w.batch;
  kept.insert(kept.end(), {w.row, w.column, w.output});
  if (!are_same_axes(kept, nest.axes)) return "the tiles leave out an axis";
  const ExprNode& product = *nest.reduction->args[0];
  const ExprNode &left = *product.args[w.left_first ? 0 : 1], &right = *product.args[w.left_first ? 1 : 0];
  const auto channel = left.at[w.channel_axis].as_axis(), k = right.at[2].as_axis(),
             l = right.at[3].as_axis();
  if (!channel || !k || !l || !k->extent.is(3) || !l->extent.is(3)) return "it is no 3x3 window";
  if (!are_same_axes({*channel, *k, *l}, nest.reduction->axes)) return "it sums other axes";
  if (!(left.at[w.row_axis] == Index(w.row) + Index(*k) + Index(w.top)) ||
      !(left.at[w.column_axis] == Index(w.column) + Index(*l) + Index(w.left_edge)))
    return "the window moves otherwise";
  if (!(right.at[0] == Index(w.output)) || !(right.at[1] == Index(*channel)))
    return "the weights are another convolution's";
  if (w.channels % 16 != 0 || !channel->extent.is(w.channels) || w.output.extent.concrete() % 16 != 0 ||
      !plan.buffer(w.left).strides[w.channel_axis].is(1))
    return "channels do not come in sixteens";
  if (w.size != 2 && w.size != 4) return "there is no such tile";
  if (plan.buffer(w.weights).size.concrete() != w.points() * w.panels * w.channels * w.width ||
      w.panels * w.width < w.output.extent.concrete())
    return "the weights are transformed otherwise";
  return w.tiles <= 0 || plan.buffer(w.scratch).size.concrete() < w.scratch_size()
             ? Wrong("the scratch memory is too small")
             : std::nullopt;
}

}  // namespace isomer::lower
