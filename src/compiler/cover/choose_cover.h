// Chooses the engine of each segment of a model for the least total time: exactly, by dynamic programming,
// since the segments are a chain. Regions overlap: any neighbours may be one operator, and a region that was
// measured as one uses its measurement.
#pragma once

#include <optional>
#include <vector>

namespace isomer {

struct SegmentTimes {
  std::size_t layer = 0;               // only neighbours of one layer save a border
  std::optional<double> ours_ns = {};  // as an operator by itself; nullopt: it can't be one
  double runtime_ns = 0;               // by itself
  // The time saved if this segment and the one before use the same engine: a tensor that need not be written
  // in the usual order, a call.
  double saved_ours_ns = 0, saved_runtime_ns = 0;
};

// Neighbours of one layer as one operator, measured.
struct RunTime {
  std::size_t first = 0, count = 0;
  double ours_ns = 0;
};

struct Cover {
  std::vector<bool> ours;         // by segment
  std::vector<bool> begins = {};  // another operator begins, though the one before is ours; {}: nowhere
  double ns = 0;
};
Cover cheapest_cover(const std::vector<SegmentTimes>& segments, const std::vector<RunTime>& measured = {});

// Neighbouring segments that are one operator.
struct CoverRegion {
  std::size_t first = 0, count = 0;
};
// Neighbours that are ours, of one layer. `layers`: of each segment.
std::vector<CoverRegion> regions_of(const Cover& cover, const std::vector<std::size_t>& layers);

}  // namespace isomer
