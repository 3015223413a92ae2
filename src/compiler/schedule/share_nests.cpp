#include <algorithm>
#include <set>

#include "compiler/schedule/layout.h"
#include "model/expr/look_up.h"

namespace isomer::lower {
namespace {

// Operations below which threads don't help: they synchronize twice, which takes about a microsecond.
constexpr std::int64_t kWorth = std::int64_t{1} << 15;
// Parts that are enough for any number of threads; more loops are not divided.
constexpr std::int64_t kParts = 32;

// At usual sizes, as all that decides here.
std::int64_t points(const std::vector<Axis>& axes, const Sizes& sizes) {
  std::int64_t out = 1;
  for (const Axis& a : axes) out *= sizes.usual(a);
  return out;
}

// About how many operations a nest has: of every point, those of its sums.
std::int64_t work(const Nest& nest, const Sizes& sizes) {
  std::set<const ExprNode*> seen;
  std::int64_t each = 1;
  const auto visit = [&](const ExprNode& e, const auto& self) -> void {
    if (!seen.insert(&e).second) return;
    if (e.kind == ExprNode::Kind::Reduce && !as_look_up(e)) each += points(e.axes, sizes);
    for (const ExprRef& a : e.args) self(*a, self);
    for (const ExprNode::Case& c : e.cases) self(*c.value, self);
  };
  visit(*nest.value, visit);
  return points(nest.axes, sizes) * each;
}

// The length of an axis for threads that divide it: of rows that go strip by strip, one strip.
std::int64_t length(const Nest& nest, const Axis& axis, const Sizes& sizes) {
  if (!nest.strip || !(nest.strip->rows == axis)) return sizes.usual(axis);
  return std::max<std::int64_t>(1, sizes.usual(axis) / strip_count(*nest.strip, sizes));
}

void share_tile(const Nest& nest, Tile& tile, const Sizes& sizes) {
  std::int64_t batch = 1;
  for (const Axis& a : tile.batch) batch *= length(nest, a, sizes);
  // Tiles are a dozen rows high, about.
  constexpr std::int64_t kHeight = 12;
  const std::int64_t rows = tile.outer_rows.empty() ? (sizes.usual(tile.rows) + kHeight - 1) / kHeight
                                                    : points(tile.outer_rows, sizes);
  const std::int64_t panels = (sizes.usual(tile.columns) + tile.width - 1) / tile.width;
  if (batch * std::max(rows, panels) < 2) return;
  tile.shared = batch * rows >= kParts / 2 || rows >= panels ? Tile::Shared::Rows : Tile::Shared::Columns;
}

void share_loops(Nest& nest, const Sizes& sizes) {
  std::int64_t parts = 1;
  std::size_t count = 0;
  for (; count < nest.loops.size() && parts < kParts; ++count) {
    const Loop& loop = nest.loops[count];
    if (loop.kind != Loop::Kind::Serial || is_reduced(nest, loop)) break;
    // The innermost loop is for vectors, unless there is no other.
    if (count + 1 == nest.loops.size() && parts > 1) break;
    parts *= length(nest, loop.axis, sizes);
  }
  if (parts < 2) return;
  for (std::size_t k = 0; k < count; ++k) nest.loops[k].kind = Loop::Kind::Parallel;
}

// Winograd's weights are many times what they were: where there are few tiles, each thread has panels of
// them, and transforms all inputs for itself, rather than that all of them read all weights.
Tile::Shared shared_winograd(const Winograd& w, const Sizes& sizes) {
  constexpr std::int64_t kCache = std::int64_t{1} << 20;  // bytes of weights that stay in a thread's cache
  const std::int64_t weights = w.points() * w.panels * w.width * w.channels * std::int64_t{sizeof(float)};
  return weights > kCache && w.panels > 1 && w.panels * w.width >= 4 * sizes.usual(w.all_tiles())
             ? Tile::Shared::Columns
             : Tile::Shared::Rows;
}

bool is_left_alone(const Nest& nest, const Schedules& own) {
  const auto said = own.find(nest.name);
  return said != own.end() && !keeps_rest(said->second);
}

// Nests that run strip by strip: threads meet once, not for every strip of every nest, and what one of them
// writes stays in its own cache.
void share_strips(Plan& plan, std::size_t first, std::size_t length, const Schedules& own) {
  constexpr std::int64_t kFewestRows = 4;
  const auto end = plan.nests.begin() + static_cast<std::ptrdiff_t>(first + length);
  const auto begin = plan.nests.begin() + static_cast<std::ptrdiff_t>(first);
  std::int64_t all = 0;
  for (auto n = begin; n != end; ++n) all += work(*n, plan.sizes);
  const auto is_private = [&](const Nest& n) {
    const Storage& s = plan.buffer(n.target);
    return s.kind == Storage::Kind::Local && s.ring > 0;
  };
  // Rows of the nest are rows of its tensor, and no other nest of the group writes there.
  const auto writes_rows = [&](const Nest& n) {
    return std::ranges::count(n.at, Index(n.strip->rows)) == 1 &&
           std::ranges::count_if(n.at, [&](const Index& i) { return i.mentions(n.strip->rows); }) == 1 &&
           std::count_if(begin, end, [&](const Nest& o) { return o.target == n.target; }) == 1;
  };
  if (all < 2 * kWorth || (end - 1)->strip->open || (end - 1)->strip->done.back() < kFewestRows ||
      !std::all_of(begin, end - 1, is_private) || !std::all_of(begin, end, writes_rows) ||
      std::any_of(begin, end, [&](const Nest& n) { return is_left_alone(n, own); }))
    return;
  for (auto n = begin; n != end; ++n) n->strip->apart = true;
  for (auto n = begin; n != end - 1; ++n) plan.buffer(n->target).each_thread = true;
}

}  // namespace

void share_nests(Plan& plan, const Schedules& own) {
  for (std::size_t n = 0; n < plan.nests.size(); ++n)
    if (const std::size_t length = strip_length(plan, n); length > 0) {
      share_strips(plan, n, length, own);
      n += length - 1;
    }
  for (Nest& nest : plan.nests) {
    if (nest.strip && nest.strip->apart) continue;
    const std::int64_t strips = nest.strip ? strip_count(*nest.strip, plan.sizes) : 1;
    if (is_left_alone(nest, own) || work(nest, plan.sizes) / strips < kWorth) continue;
    if (nest.tile) share_tile(nest, *nest.tile, plan.sizes);
    else if (nest.winograd) {
      if (!plan.sizes.is_empty()) continue;  // memory of each thread is divided for known sizes
      nest.winograd->shared = shared_winograd(*nest.winograd, plan.sizes);
      plan.buffer(nest.winograd->scratch).each_thread = true;
    } else {
      share_loops(nest, plan.sizes);
    }
  }
}

}  // namespace isomer::lower
