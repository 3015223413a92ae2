// LoopIndex: an Index compiled against the slots of a loop nest, evaluated with plain integers.
//
// Internal to Program. A slot holds the current value of one axis; the strip slot is the axis whose
// consecutive values are handled together, and a lane slot (of a look-up) has a value of its own for every
// element of the strip.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "model/expr/index.h"

namespace isomer {

using Slots = std::map<int, int>;  // axis id -> slot

class LoopIndex {
 public:
  LoopIndex() = default;
  LoopIndex(const Index& index, const Slots& slots);

  std::int64_t at(const std::int64_t* slots) const;
  bool mentions(int slot) const;
  // The change per step of a slot, where that is the same everywhere.
  std::optional<std::int64_t> slope(int slot) const;
  // Takes out the floors and mods that depend on this slot alone and returns their sum for each of its
  // values; empty if none.
  std::vector<std::int64_t> take_table(int slot, std::int64_t extent);

 private:
  struct Linear {
    std::int64_t scale;
    int slot;
  };
  struct Nested;
  bool mentions_only(int slot) const;
  std::int64_t offset_ = 0;
  std::vector<Linear> linear_;
  std::vector<Nested> nested_;
};

struct LoopIndex::Nested {
  std::int64_t scale, divisor;
  bool is_mod;
  LoopIndex inner;
  std::int64_t at(const std::int64_t* slots) const {
    const std::int64_t x = inner.at(slots);
    const std::int64_t q = x >= 0 ? x / divisor : -((divisor - 1 - x) / divisor);
    return is_mod ? x - q * divisor : q;
  }
};

inline std::int64_t LoopIndex::at(const std::int64_t* slots) const {
  std::int64_t value = offset_;
  for (const Linear& t : linear_) value += t.scale * slots[t.slot];
  for (const Nested& t : nested_) value += t.scale * t.at(slots);
  return value;
}

}  // namespace isomer
