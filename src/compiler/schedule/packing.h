// Shared by the schedulers of nests: new buffers, weights in another order, steps of addresses.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "compiler/loops/compose.h"
#include "compiler/loops/nest.h"

namespace isomer::lower {

// Adds buffers to a plan. Weights of the same bytes are one: layers that share theirs share what is made of
// them.
class Packing {
 public:
  Packing(Plan& plan, AxisNumbers& numbers) : plan_(plan), numbers_(numbers) {}
  int add(Storage storage);
  // An expression over one weight, computed now; nullopt where that fails.
  std::optional<Storage> compute(const Expr& value, const std::vector<Axis>& axes, std::string name) const;

  const Storage& storage(int buffer) const { return plan_.buffer(buffer); }
  // Where an access goes, in elements.
  Index address(int buffer, const std::vector<Index>& at) const { return address_of(storage(buffer), at); }

  std::int64_t usual(const Axis& axis) const { return plan_.sizes.usual(axis); }
  std::int64_t usual(const Dim& dim) const { return plan_.sizes.usual(dim); }
  const Plan& plan() const { return plan_; }
  AxisNumbers& numbers() { return numbers_; }

 private:
  Plan& plan_;
  AxisNumbers& numbers_;
  std::unordered_multimap<Digest, int> weights_;
};

std::int64_t extent(const Axis& axis);  // that is known
bool is_known(const std::vector<Axis>& axes);
// Whether an index is affine in axes: no quotients, no rests; but of the rows that a nest does strip by
// strip.
bool is_plain(const Index& index);
bool is_plain(const Index& index, const Nest& nest);
bool contains(const std::vector<Axis>& axes, const Axis& axis);

}  // namespace isomer::lower
