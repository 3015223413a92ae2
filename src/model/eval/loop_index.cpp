#include "model/eval/loop_index.h"

#include <algorithm>

#include "base/check.h"

namespace isomer {

LoopIndex::LoopIndex(const Index& index, const Slots& slots) : offset_(index.offset().concrete()) {
  for (const Index::Term& t : index.terms()) {
    if (t.atom.kind == Index::AtomKind::Axis) {
      const auto slot = slots.find(t.atom.axis.id);
      ISOMER_CHECK(slot != slots.end(), "an index mentions only axes of the loops around it");
      linear_.push_back({t.scale.concrete(), slot->second});
    } else {
      nested_.push_back({.scale = t.scale.concrete(),
                         .divisor = t.atom.divisor.concrete(),
                         .is_mod = t.atom.kind == Index::AtomKind::Mod,
                         .inner = LoopIndex(*t.atom.inner, slots)});
    }
  }
}

bool LoopIndex::mentions(int slot) const {
  return std::ranges::any_of(linear_, [&](const Linear& t) { return t.slot == slot; }) ||
         std::ranges::any_of(nested_, [&](const Nested& t) { return t.inner.mentions(slot); });
}

bool LoopIndex::mentions_only(int slot) const {
  return std::ranges::all_of(linear_, [&](const Linear& t) { return t.slot == slot; }) &&
         std::ranges::all_of(nested_, [&](const Nested& t) { return t.inner.mentions_only(slot); });
}

std::vector<std::int64_t> LoopIndex::take_table(int slot, std::int64_t extent) {
  LoopIndex taken;
  std::erase_if(nested_, [&](const Nested& t) {
    const bool ours = t.inner.mentions_only(slot);
    if (ours) taken.nested_.push_back(t);
    return ours;
  });
  std::vector<std::int64_t> table;
  if (taken.nested_.empty()) return table;
  std::vector<std::int64_t> slots(static_cast<std::size_t>(slot) + 1, 0);
  for (std::int64_t value = 0; value < extent; ++value) {
    slots[static_cast<std::size_t>(slot)] = value;
    table.push_back(taken.at(slots.data()));
  }
  return table;
}

std::optional<std::int64_t> LoopIndex::slope(int slot) const {
  if (std::ranges::any_of(nested_, [&](const Nested& t) { return t.inner.mentions(slot); }))
    return std::nullopt;
  std::int64_t out = 0;
  for (const Linear& t : linear_)
    if (t.slot == slot) out += t.scale;
  return out;
}

}  // namespace isomer
