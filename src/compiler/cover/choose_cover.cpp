#include "compiler/cover/choose_cover.h"

#include <algorithm>
#include <array>
#include <limits>

namespace isomer {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// The best way to some border whose last region is of one engine.
struct Way {
  double ns = kNever;
  std::size_t from = 0;  // where that region begins
  bool after_ours = false;
};

}  // namespace

Cover cheapest_cover(const std::vector<SegmentTimes>& segments, const std::vector<RunTime>& measured) {
  const std::size_t n = segments.size();
  std::vector<std::array<Way, 2>> best(n + 1);
  best[0][0].ns = 0;
  const auto measured_ns = [&](std::size_t first, std::size_t count) -> std::optional<double> {
    for (const RunTime& run : measured)
      if (run.first == first && run.count == count) return run.ours_ns;
    return std::nullopt;
  };
  for (std::size_t from = 0; from < n; ++from) {
    double runtime = 0, ours = 0;
    for (std::size_t to = from + 1; to <= n; ++to) {
      const SegmentTimes& s = segments[to - 1];
      if (to > from + 1 && s.layer != segments[to - 2].layer) break;
      runtime += s.runtime_ns - (to > from + 1 ? s.saved_runtime_ns : 0);
      ours += s.ours_ns.value_or(kNever) - (to > from + 1 ? s.saved_ours_ns : 0);
      const std::array<double, 2> costs{runtime, measured_ns(from, to - from).value_or(ours)};
      for (const std::size_t engine : {0, 1})
        for (const std::size_t before : {0, 1}) {
          // The runtime's part is one piece, however it is counted.
          if (engine == 0 && before == 0 && from > 0 && segments[from - 1].layer == segments[from].layer)
            continue;
          const double ns = best[from][before].ns + costs[engine];
          if (ns < best[to][engine].ns) best[to][engine] = {ns, from, before == 1};
        }
    }
  }
  bool is_ours = best[n][1].ns < best[n][0].ns;
  Cover out{.ours = std::vector<bool>(n), .begins = std::vector<bool>(n), .ns = best[n][is_ours ? 1 : 0].ns};
  for (std::size_t to = n; to > 0;) {
    const Way& way = best[to][is_ours ? 1 : 0];
    for (std::size_t k = way.from; k < to; ++k) out.ours[k] = is_ours;
    if (is_ours && way.from > 0) out.begins[way.from] = true;
    is_ours = way.after_ours;
    to = way.from;
  }
  return out;
}

std::vector<CoverRegion> regions_of(const Cover& cover, const std::vector<std::size_t>& layers) {
  std::vector<CoverRegion> out;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    if (!cover.ours[k]) continue;
    const bool goes_on = k > 0 && cover.ours[k - 1] && layers[k - 1] == layers[k] &&
                         (cover.begins.empty() || !cover.begins[k]);
    if (goes_on) ++out.back().count;
    else out.push_back({k, 1});
  }
  return out;
}

}  // namespace isomer
