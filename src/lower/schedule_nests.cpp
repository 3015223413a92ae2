#include "lower/layout.h"
#include "lower/reducer.h"
#include "lower/tiler.h"

namespace isomer::lower {

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
      out.push_back(std::move(part));
    }
  }
  plan.nests = std::move(out);
  return Done{};
}

}  // namespace isomer::lower
