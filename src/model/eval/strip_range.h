// StripRange: the elements of a strip on which a domain holds. Internal to Program.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/eval/strip.h"

namespace isomer {

// Elements [low, high) of a strip, or, where that isn't an interval, those with a mark.
struct StripRange {
  int low = 0, high = 0;
  bool marked = false;
  std::array<std::uint8_t, kStripLength> marks;  // set for low <= element < high, where `marked`
  bool empty() const { return low >= high; }
  bool holds(int element) const { return !marked || marks[static_cast<std::size_t>(element)] != 0; }
};

// Cuts [low, high) to where 0 <= first + slope·element < extent.
void clip(std::int64_t first, std::int64_t slope, std::int64_t extent, int& low, int& high);

class LoopDomain {
 public:
  LoopDomain() = default;
  LoopDomain(const Domain& domain, const StripCompiler& compiler);
  bool always() const { return conditions_.empty(); }
  void range(StripState& state, StripRange& out) const;

 private:
  struct Condition {
    LoopIndex at_least_zero;
    bool straight;  // changes by `slope` per element
    std::int64_t slope;
  };
  std::vector<Condition> conditions_;
  int strip_slot_ = 0;
};

// Runs f(element) with the state's slots set as they are for each element of the strip in turn.
template <class F>
void for_each_lane(StripState& state, int strip_slot, int low, int high, F&& f) {
  const std::int64_t first = state.slots[static_cast<std::size_t>(strip_slot)];
  std::array<std::pair<std::size_t, std::int64_t>, 16> saved;
  std::size_t lanes = 0;
  for (std::size_t s = 0; s < state.lanes.size(); ++s) {
    if (state.lanes[s] == nullptr) continue;
    ISOMER_CHECK(lanes < saved.size(), "look-ups nest at most 16 deep");
    saved[lanes++] = {s, state.slots[s]};
  }
  for (int i = low; i < high; ++i) {
    state.slots[static_cast<std::size_t>(strip_slot)] = first + i;
    for (std::size_t k = 0; k < lanes; ++k) state.slots[saved[k].first] = state.lanes[saved[k].first][i];
    f(i);
  }
  state.slots[static_cast<std::size_t>(strip_slot)] = first;
  for (std::size_t k = 0; k < lanes; ++k) state.slots[saved[k].first] = saved[k].second;
}

}  // namespace isomer
