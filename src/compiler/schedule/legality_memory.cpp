// Checks memory: buffers that live at the same time do not overlap.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/schedule/legality.h"
#include "compiler/schedule/legality_parts.h"

namespace isomer::lower {
namespace {

// Positions of a tensor, zeros around it included, are places of its memory, each another one.
Wrong misplaced(const Storage& s, const Sizes& sizes) {
  Dim reach = 0;
  const std::vector<int> order = order_of(s, sizes);
  for (std::size_t k = order.size(); k-- > 0;) {
    const auto d = static_cast<std::size_t>(order[k]);
    const bool goes_round = s.ring > 0 && d == s.ring_axis;
    const Dim length =
        goes_round ? Dim(s.ring) : s.extents[d] + Dim(s.low.empty() ? 0 : s.low[d] + s.high[d]);
    if (length.is(0)) return std::nullopt;  // it has no positions
    if (length.is(1)) continue;
    if (!is_above(s.strides[d], reach, sizes)) return fmt::format("positions of {} share a place", s.name);
    reach = reach + (length - Dim(1)) * s.strides[d];
  }
  if (!is_above(s.size.is(0) ? Dim(1) : s.size, reach, sizes))
    return fmt::format("{} is larger than its memory", s.name);
  return std::nullopt;
}

// The first and the last nest that use a buffer.
struct Life {
  std::size_t first = SIZE_MAX, last = 0;
  bool meets(const Life& other) const { return first <= other.last && other.first <= last; }
};

std::map<int, Life> lives_of(const Plan& plan) {
  std::map<int, Life> lives;
  const auto use = [&](int buffer, std::size_t n) {
    lives[buffer].first = std::min(lives[buffer].first, n);
    lives[buffer].last = std::max(lives[buffer].last, n);
  };
  for (std::size_t n = 0; n < plan.nests.size(); ++n) {
    use(plan.nests[n].target, n);
    for (const int buffer : read_by(plan.nests[n])) use(buffer, n);
    if (plan.nests[n].winograd) use(plan.nests[n].winograd->scratch, n);
  }
  // Nests that run in turns are one.
  for (std::size_t n = 0; n < plan.nests.size();) {
    const std::size_t end = n + std::max<std::size_t>(1, strip_length(plan, n));
    for (auto& [buffer, life] : lives)
      if (life.first < end && life.last >= n)
        life = {.first = std::min(life.first, n), .last = std::max(life.last, end - 1)};
    n = end;
  }
  return lives;
}

Wrong outside(const Storage& s, const Plan& plan) {
  const auto is_inside = [&](std::int64_t offset, std::int64_t bytes) {
    return offset >= 0 && offset % stored_bytes(s.type) == 0 && offset + byte_size(s).concrete() <= bytes;
  };
  const bool is_weight = s.kind == Storage::Kind::Weight;
  // A buffer above others at every size is inside memory that ends above all of them.
  if (!is_weight && !plan.sizes.is_empty()) return std::nullopt;
  if (!is_inside(s.offset, is_weight ? plan.weights : plan.workspace))
    return fmt::format("{} is outside of the memory", s.name);
  if (s.each_thread && !is_inside(s.thread_offset, plan.thread_workspace))
    return fmt::format("{} is outside of a thread's memory", s.name);
  return std::nullopt;
}

// For two buffers of a kind that live at the same time.
Wrong overlap(const Storage& a, const Storage& b) {
  const auto meet = [&](std::int64_t at, std::int64_t other) {
    return at < other + byte_size(b).concrete() && other < at + byte_size(a).concrete();
  };
  if (a.each_thread && b.each_thread && meet(a.thread_offset, b.thread_offset))
    return fmt::format("{} and {} of a thread live at the same time and overlap", a.name, b.name);
  if (meet(a.offset, b.offset))
    return fmt::format("{} and {} live at the same time and overlap", a.name, b.name);
  return std::nullopt;
}

// For two local buffers with open sizes: one of them begins above the end of the other, at all sizes.
Wrong overlap_at_a_size(const Plan& plan, int a, int b) {
  const auto is_below = [&](int low, int high) {
    const std::vector<int>& below = plan.buffer(high).below;
    return std::ranges::find(below, low) != below.end();
  };
  if (is_below(a, b) || is_below(b, a)) return std::nullopt;
  return fmt::format("{} and {} live at the same time, and neither is above the other", plan.buffer(a).name,
                     plan.buffer(b).name);
}

// Places are computed one after the other: what is below a buffer has its place before.
Wrong wrong_places(const Plan& plan) {
  std::vector<bool> is_placed(plan.buffers.size(), false);
  for (const int buffer : plan.placed) {
    for (const int low : plan.buffer(buffer).below)
      if (!is_placed[static_cast<std::size_t>(low)])
        return fmt::format("{} is placed before what is below it", plan.buffer(buffer).name);
    is_placed[static_cast<std::size_t>(buffer)] = true;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> overlapping(const Plan& plan) {
  const std::map<int, Life> lives = lives_of(plan);
  const bool is_open = !plan.sizes.is_empty();
  if (auto wrong = wrong_places(plan)) return wrong;
  for (auto a = lives.begin(); a != lives.end(); ++a) {
    const Storage& s = plan.buffer(a->first);
    const bool is_weight = s.kind == Storage::Kind::Weight;
    if (!is_weight && s.kind != Storage::Kind::Local) continue;
    if (auto wrong = misplaced(s, plan.sizes)) return wrong;
    if (auto wrong = outside(s, plan)) return wrong;
    if (is_open && !is_weight && std::ranges::find(plan.placed, a->first) == plan.placed.end())
      return fmt::format("{} has no place", s.name);
    for (auto b = std::next(a); b != lives.end(); ++b) {
      const Storage& other = plan.buffer(b->first);
      if (other.kind != s.kind || !(is_weight || a->second.meets(b->second))) continue;
      if (auto wrong =
              is_open && !is_weight ? overlap_at_a_size(plan, a->first, b->first) : overlap(s, other))
        return wrong;
    }
  }
  return std::nullopt;
}

}  // namespace isomer::lower
