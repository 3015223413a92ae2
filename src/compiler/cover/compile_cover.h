// A model with some segments as our operators and the rest on the runtime: each segment is timed on both
// sides, and the cheapest cover is chosen and built. The caller measures whether the whole is faster.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/cover/choose_cover.h"
#include "compiler/cover/cut_model.h"
#include "compiler/cover/region_program.h"
#include "compiler/cover/time_regions.h"

namespace isomer {

class CoverMaker {
 public:
  explicit CoverMaker(CutModel cut) : cut_(std::move(cut)) {}
  const CutModel& cut() const { return cut_; }
  const std::vector<SegmentTimes>& times() const { return times_; }

  using Progress = std::function<void(const std::string&)>;
  // All segments, each kind once.
  Outcome<Done> time(RegionTimer& timer, const NamedTensors& feeds, const Progress& progress);
  void set_times(std::vector<SegmentTimes> times);  // as if they had been measured
  // The times of the whole model, by the runtime alone and, if it can be, as one operator: what its segments
  // take in all beyond that is what borders cost.
  void calibrate(double runtime_ns, std::optional<double> ours_ns);

  Cover best() const { return cheapest_cover(times_, runs_); }
  // Times up to `most` merged regions as one, then answers the best cover whose regions were all measured.
  Outcome<Cover> best_of_measured(RegionTimer& timer, int most, const Progress& progress);
  // The time of the whole model on either engine, from the times of segments and borders.
  double least_of_one_engine() const;
  // Everything that can be compiled.
  Cover all() const;
  // Without the half of its regions that gains the least.
  Cover fewer(const Cover& cover) const;
  std::vector<CoverRegion> regions(const Cover& cover) const;

  // Each region as a program.
  Result<std::vector<RegionProgram>> programs(const Cover& cover) const;

  struct Built {
    Model model;
    CompiledRegions library;
    std::vector<RegionProgram> programs;
  };
  // Files go to the request's folder. Error: also if a node's inputs and outputs are not those of its
  // operator.
  Result<Built> build(const Cover& cover, const CompileRequest& request) const;

  struct Row {
    std::string first, last;  // nodes
    std::size_t nodes = 0;
    std::optional<double> ours_ns = {};
    double runtime_ns = 0;
    std::string failure = {};
    std::optional<std::size_t> region = {};  // the operator that it is a part of
  };
  std::vector<Row> rows(const Cover& cover) const;

 private:
  double gain(const CoverRegion& region) const;

  CutModel cut_;
  std::vector<SegmentTimes> times_;
  std::vector<std::string> failures_;
  std::vector<RunTime> runs_;  // regions of several segments that were timed
};

}  // namespace isomer
