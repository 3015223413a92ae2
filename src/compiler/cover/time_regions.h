// Regions of a model, compared with a runtime: their inputs, their time as our operator and on the runtime,
// and the error of each against float64.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "compiler/cover/cut_model.h"
#include "compiler/cover/region_program.h"
#include "compiler/emit/compile_module.h"
#include "runtime/judge/errors.h"
#include "runtime/judge/judge.h"

namespace isomer {

struct RegionTime {
  std::optional<double> ours_ns = {};  // of CPU time, run by turns with the other
  double runtime_ns = 0;
  std::string failure = {};  // why it is not ours
};

class RegionTimer {
 public:
  struct Options {
    CompileRequest compile;  // in folders of its own, which are removed
    RuntimeOptions runtime;
    double seconds = 1;  // of comparing one pair
  };
  RegionTimer(Judge& judge, Options options);
  ~RegionTimer();
  RegionTimer(const RegionTimer&) = delete;
  RegionTimer& operator=(const RegionTimer&) = delete;

  // Runs a model once and keeps the values that its segments read.
  Outcome<Done> observe(const CutModel& cut, const NamedTensors& feeds);
  // From memory, if one of the same structure was timed before.
  Outcome<RegionTime> time(const CutModel& cut, const RegionProgram& region);
  // A whole model; `ours`: the same as an operator of this library, if it can be one.
  Outcome<RegionTime> time_whole(const CutModel& cut, const NamedTensors& feeds, const Model* ours,
                                 const std::filesystem::path& library);
  // The errors of a library's operator against float64; nullopt: that takes too long.
  Outcome<std::optional<Errors>> errors(const CutModel& cut, const RegionProgram& region,
                                        const CompiledRegions::Region& ours,
                                        const std::filesystem::path& library);
  std::size_t timed() const { return known_.size(); }

 private:
  Outcome<RegionTime> compare(const Model& theirs, const Model* ours, const std::filesystem::path& library,
                              const NamedTensors& feeds);
  Outcome<NamedTensors> feeds_of(const CutModel& cut, const RegionProgram& region) const;
  RuntimeOptions with(const std::filesystem::path& library) const;
  std::filesystem::path scratch() const { return options_.compile.folder / "region.onnx"; }

  Judge& judge_;
  Options options_;
  NamedTensors observed_;
  std::map<Digest, RegionTime> known_;
};

}  // namespace isomer
