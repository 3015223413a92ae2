#include "pipeline/choose_cover.h"

#include <algorithm>
#include <array>
#include <limits>

namespace isomer {

Cover cheapest_cover(const std::vector<StretchTimes>& stretches) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  using Costs = std::array<double, 2>;  // of all so far, if the last one is the runtime's, or ours
  Costs best{0, kNever};
  std::vector<std::array<bool, 2>> before;  // whether the one before is ours
  for (std::size_t k = 0; k < stretches.size(); ++k) {
    const StretchTimes& s = stretches[k];
    const bool is_neighbour = k > 0 && stretches[k - 1].layer == s.layer;
    const Costs own{s.runtime_ns, s.ours_ns.value_or(kNever)},
        saved{is_neighbour ? s.saved_runtime_ns : 0, is_neighbour ? s.saved_ours_ns : 0};
    Costs next{};
    before.emplace_back();
    for (const std::size_t engine : {0, 1}) {
      const double same = best[engine] - saved[engine], other = best[1 - engine];
      before.back()[engine] = (same <= other) == (engine == 1);
      next[engine] = own[engine] + std::min(same, other);
    }
    best = next;
  }
  Cover out{.ours = std::vector<bool>(stretches.size()), .ns = std::min(best[0], best[1])};
  bool is_ours = best[1] < best[0];
  for (std::size_t k = stretches.size(); k-- > 0;) {
    out.ours[k] = is_ours;
    is_ours = before[k][is_ours ? 1 : 0];
  }
  return out;
}

std::vector<CoverRegion> regions_of(const Cover& cover, const std::vector<std::size_t>& layers) {
  std::vector<CoverRegion> out;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    if (!cover.ours[k]) continue;
    const bool goes_on = k > 0 && cover.ours[k - 1] && layers[k - 1] == layers[k];
    if (goes_on) ++out.back().count;
    else out.push_back({k, 1});
  }
  return out;
}

}  // namespace isomer
