#include "model/eval/strip_range.h"

#include <algorithm>

namespace isomer {

void clip(std::int64_t first, std::int64_t slope, std::int64_t extent, int& low, int& high) {
  const auto ceil_div = [](std::int64_t a, std::int64_t b) { return -floor_div(-a, b); };
  std::int64_t from = low, to = high;
  if (slope == 0) {
    if (first < 0 || first >= extent) to = from;
  } else if (slope > 0) {
    from = std::max(from, ceil_div(-first, slope));
    to = std::min(to, ceil_div(extent - first, slope));
  } else {  // first + slope·i >= 0  and  first + slope·i < extent
    to = std::min(to, floor_div(first, -slope) + 1);
    from = std::max(from, floor_div(first - extent, -slope) + 1);
  }
  low = static_cast<int>(std::min<std::int64_t>(from, high));
  high = static_cast<int>(std::max<std::int64_t>(to, low));
}

LoopDomain::LoopDomain(const Domain& domain, const StripCompiler& compiler)
    : strip_slot_(compiler.strip_slot()) {
  for (const Index& i : domain) {
    const auto range = i.range();
    if (range && range->low.at_least(0).value_or(false)) continue;  // always holds
    LoopIndex index = compiler.index(i);
    const auto slope = index.slope(strip_slot_);
    const bool straight = slope.has_value() && !compiler.mentions_lane(index);
    conditions_.push_back(
        {.at_least_zero = std::move(index), .straight = straight, .slope = slope.value_or(0)});
  }
}

void LoopDomain::range(StripState& state, StripRange& out) const {
  out.low = 0;
  out.high = state.length;
  out.marked = false;
  constexpr std::int64_t kNoLimit = std::int64_t{1} << 62;
  for (const Condition& c : conditions_)
    if (c.straight) clip(c.at_least_zero.at(state.slots.data()), c.slope, kNoLimit, out.low, out.high);
  for (const Condition& c : conditions_) {
    if (c.straight || out.empty()) continue;
    if (!out.marked) std::fill_n(out.marks.begin(), out.high, std::uint8_t{1});
    out.marked = true;
    for_each_lane(state, strip_slot_, out.low, out.high, [&](int i) {
      if (c.at_least_zero.at(state.slots.data()) < 0) out.marks[static_cast<std::size_t>(i)] = 0;
    });
  }
}

}  // namespace isomer
