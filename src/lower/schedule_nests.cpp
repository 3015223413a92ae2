#include "lower/layout.h"
#include "lower/reducer.h"
#include "lower/tiler.h"

namespace isomer::lower {
namespace {

// What a nest needs copied is copied before the first strip of its group.
void put(std::vector<Nest>& out, Nest part, const Nest& whole) {
  auto at = out.end();
  if (whole.strip && !part.strip)
    while (at != out.begin() && std::prev(at)->strip && std::prev(at)->strip->group == whole.strip->group)
      --at;
  out.insert(at, std::move(part));
}

}  // namespace

Status schedule_nests(Plan& plan, AxisNumbers& numbers, Exactness exactness) {
  std::vector<Nest> out;
  Packing packing(plan, numbers);
  for (const Nest& nest : plan.nests) {
    auto parts = tiled(nest, packing, exactness);
    if (!parts) {
      for (Nest& part : with_ordered_loops(nest, packing)) out.push_back(std::move(part));
      continue;
    }
    for (Nest& part : *parts) {
      if (!part.tile && !part.winograd) reset_loops(part, plan);
      put(out, std::move(part), nest);
    }
  }
  plan.nests = std::move(out);
  return Done{};
}

}  // namespace isomer::lower
