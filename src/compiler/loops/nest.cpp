#include "compiler/loops/nest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/nth.h"
#include "compiler/loops/fused_axes.h"

namespace isomer::lower {

std::int64_t Sizes::usual(const Dim& dim) const {
  if (const auto known = dim.value()) return *known;
  const auto at_usual = dim.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
    const auto at = std::ranges::find(open, name, &OpenSize::name);
    return at == open.end() ? std::nullopt : std::optional(at->usual);
  });
  ISOMER_CHECK(at_usual, dim.text() + " has a size that no run is given");
  return *at_usual;
}

Dim Sizes::from_least(const Dim& dim) const {
  return dim.substitute([&](std::string_view name) {
    const auto at = std::ranges::find(open, name, &OpenSize::name);
    return at == open.end() ? Dim::symbol(name) : Dim::symbol(name) + Dim(at->least);
  });
}

Dims row_major(const Dims& extents) {
  std::vector<int> order(extents.size());
  std::iota(order.begin(), order.end(), 0);
  return strides_in_order(extents, order);
}

Dims strides_in_order(const Dims& extents, const std::vector<int>& order) {
  Dims strides(extents.size(), 1);
  Dim step = 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[k]);
    strides[axis] = step;
    if (!extents[axis].is(0)) step = step * extents[axis];
  }
  return strides;
}

Dim byte_size(const Storage& storage) { return storage.size * Dim(stored_bytes(storage.type)); }

Dim origin(const Storage& storage) {
  Dim at = 0;
  for (std::size_t d = 0; d < storage.low.size(); ++d)
    if (storage.ring == 0 || d != storage.ring_axis) at = at + Dim(storage.low[d]) * storage.strides[d];
  return at;
}

bool stays_inside(const Storage& storage, std::size_t axis, const Index& at) {
  if (is_inside(at, storage.extents[axis])) return true;
  if (storage.low.empty()) return false;
  return is_inside(at + Index(storage.low[axis]),
                   storage.extents[axis] + Dim(storage.low[axis] + storage.high[axis]));
}

Index address_of(const Storage& storage, const std::vector<Index>& at) {
  Index out;
  for (std::size_t d = 0; d < at.size(); ++d)
    if (storage.ring > 0 && d == storage.ring_axis) {
      const Index row = storage.low.empty() ? at[d] : at[d] + Index(storage.low[d]);
      out = out + storage.strides[d] * Index::mod(row, storage.ring);
    } else if (!storage.extents[d].is(1)) {
      out = out + storage.strides[d] * at[d];
    }
  return out.recombine();
}

Dim stride(const Index& address, const Axis& axis) {
  for (const Index::Term& t : address.terms())
    if (t.atom.kind == Index::AtomKind::Axis && t.atom.axis == axis) return t.scale;
  return 0;
}

std::vector<int> order_of(const Storage& storage, const Sizes& sizes) {
  std::vector<int> order(storage.extents.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) {
    return sizes.usual(nth(storage.strides, a)) > sizes.usual(nth(storage.strides, b));
  });
  return order;
}

std::size_t innermost_axis(const Storage& storage, const std::vector<int>& order) {
  const auto at =
      std::find_if(order.rbegin(), order.rend(), [&](int axis) { return !nth(storage.extents, axis).is(1); });
  return static_cast<std::size_t>(at == order.rend() ? order.back() : *at);
}

void lay_out(Storage& storage, const std::vector<int>& order) {
  Dims all = storage.extents;
  for (std::size_t d = 0; d < storage.low.size(); ++d)
    all[d] = all[d] + Dim(storage.low[d] + storage.high[d]);
  if (storage.ring > 0) all[storage.ring_axis] = storage.ring;
  if (storage.gap > 0) {
    Dim& row = all[innermost_axis(storage, order)];
    row = row + Dim(storage.gap);
  }
  storage.strides = strides_in_order(all, order);
  storage.size = product(all);
}

std::int64_t stored_bytes(ElementType type) { return (bits(type) + 7) / 8; }

namespace {

std::int64_t stride_of(const Nest& nest, const Plan& plan, const Axis& axis) {
  const Storage& target = plan.buffer(nest.target);
  Dim stride = 0;
  for (std::size_t d = 0; d < nest.at.size(); ++d)
    for (const Index::Term& t : nest.at[d].terms())
      if (t.atom.kind == Index::AtomKind::Axis && t.atom.axis == axis)
        stride = stride + t.scale * target.strides[d];
  return plan.sizes.usual(stride);
}

std::string loop_word(Loop::Kind kind) {
  switch (kind) {
    case Loop::Kind::Serial: return "for";
    case Loop::Kind::Parallel: return "parallel for";
    case Loop::Kind::Unrolled: return "unrolled for";
    case Loop::Kind::Vector: return "vector for";
  }
  ISOMER_UNREACHABLE("a kind of loop");
}

}  // namespace

std::int64_t rows_of_strip(const Strip& last) { return last.open ? last.open->step : last.done.front(); }

std::int64_t strip_count(const Strip& strip, const Sizes& sizes) {
  return strip.open ? sizes.usual(strip.open->count) : static_cast<std::int64_t>(strip.done.size());
}

std::size_t strip_length(const Plan& plan, std::size_t first) {
  if (!plan.nests[first].strip) return 0;
  std::size_t n = first;
  while (n < plan.nests.size() && plan.nests[n].strip &&
         plan.nests[n].strip->group == plan.nests[first].strip->group)
    ++n;
  return n - first;
}

std::vector<Axis> all_axes(const Intrinsic& intrinsic) {
  std::vector<Axis> all = intrinsic.axes;
  all.insert(all.end(), intrinsic.value->axes.begin(), intrinsic.value->axes.end());
  return all;
}

bool is_reduced(const Nest& nest, const Loop& loop) {
  return std::ranges::any_of(
      nest.of, [&](const AxisOfLoops& a) { return a.is_reduced && a.index.mentions(loop.axis); });
}

std::vector<Loop> shared_loops(const Nest& nest) {
  const auto end =
      std::ranges::find_if(nest.loops, [](const Loop& l) { return l.kind != Loop::Kind::Parallel; });
  return {nest.loops.begin(), end};
}

bool is_shared(const Nest& nest) {
  if (nest.tile) return nest.tile->shared != Tile::Shared::None;
  return nest.winograd ? nest.winograd->shared != Tile::Shared::None : !shared_loops(nest).empty();
}

void reset_loops(Nest& nest, const Plan& plan) {
  nest.loops.clear();
  nest.of.clear();
  nest.guard.clear();
  std::vector<std::size_t> order(nest.axes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return stride_of(nest, plan, nest.axes[a]) > stride_of(nest, plan, nest.axes[b]);
  });
  for (const std::size_t k : order)
    nest.loops.push_back({.axis = nest.axes[k], .name = fmt::format("i{}", k)});
  for (std::size_t k = 0; k < nest.axes.size(); ++k)
    nest.of.push_back({.axis = nest.axes[k], .index = Index(nest.axes[k])});
  if (!nest.reduction) return;
  for (std::size_t k = 0; k < nest.reduction->axes.size(); ++k) {
    const Axis& axis = nest.reduction->axes[k];
    nest.loops.push_back({.axis = axis, .name = fmt::format("r{}", k)});
    nest.of.push_back({.axis = axis, .index = Index(axis), .is_reduced = true});
  }
}

std::string text(const Nest& nest, const Plan& plan) {
  const Storage& target = plan.buffer(nest.target);
  std::string out = fmt::format("{}: {}{}\n", nest.name, target.name, text(target.extents));
  if (nest.strip) {
    const Nest* last = &nest;  // of those that run in turns
    for (const Nest& other : plan.nests)
      if (other.strip && other.strip->group == nest.strip->group) last = &other;
    if (last->name != nest.name)
      out += fmt::format("  compute_at {} {}{}\n", last->name, rows_of_strip(*last->strip),
                         nest.strip->apart ? "  # threads divide its rows" : "");
  }
  if (nest.tile) {
    const ExprNode& right = *nest.reduction->args[0]->args[nest.tile->left_first ? 1 : 0];
    out += fmt::format("  pack x{} {}\n  tensorize\n", right.tensor.number, nest.tile->width);
    out += fmt::format("  block {}\n  group {}\n", nest.tile->block, nest.tile->group);
    if (nest.tile->chunk > 0) out += fmt::format("  pieces {}\n", nest.tile->chunk);
  }
  if (nest.winograd)
    out += fmt::format("  tensorize F({},3)\n  tiles {}\n", nest.winograd->size, nest.winograd->tiles);
  if (is_shared(nest) && (nest.tile || nest.winograd))
    out += fmt::format("  parallel {}\n",
                       (nest.tile ? nest.tile->shared : nest.winograd->shared) == Tile::Shared::Columns
                           ? "columns"
                           : "rows");
  for (const std::string& line : nest.schedule) out += "  " + line + '\n';
  std::string indent = "  ";
  for (const Loop& loop : nest.loops) {
    out += fmt::format("{}{} {} in {}:\n", indent, loop_word(loop.kind), loop.name, loop.axis.extent.text());
    indent += "  ";
  }
  const auto position = [&](const std::vector<Index>& at) {
    std::vector<std::string> words;
    for (const Index& i : at) words.push_back(i.text());
    return fmt::format("{}", fmt::join(words, ", "));
  };
  for (const AxisOfLoops& a : nest.of)
    if (!(a.index == Index(a.axis))) out += fmt::format("{}a{} = {}\n", indent, a.axis.id, a.index.text());
  for (const Index& g : nest.guard) out += fmt::format("{}if {} >= 0\n", indent, g.text());
  out += fmt::format("{}b{}[{}] = {}\n", indent, nest.target, position(nest.at), text(nest.value));
  return out;
}

}  // namespace isomer::lower
