// A model made ready to be loaded: the runtime's own passes are done once, here, and its weights are in a
// file that the runtime maps. How much faster it loads is measured, and that it runs no slower.
//
// Portable by default: passes up to "extended", which know no processor. With `this_machine` all of them:
// then weights are in the layout of this processor's kernels, and the model is for processors like it.
#pragma once

#include "app/explore/explore.h"
#include "runtime/judge/measure_loads.h"

namespace isomer {

struct PrepareRequest {
  const ExploreRequest& explore;
  std::filesystem::path folder;  // where the files are made; it exists and has nothing else in it
  std::string name;              // of the model's file; its weights are NAME.data
  bool this_machine = false;
};

struct LoadFigures {
  Interval load, first;  // times faster: to load; to load and run once
  double before_ns = 0, after_ns = 0;
  bool by_cpu_time = false;
};

struct PreparedLoad {
  std::string version;
  std::filesystem::path graph, weights;  // weights: "", where there are none that large
  LoadFigures plain;                     // with the options that the original is loaded with
  std::optional<LoadFigures> pasted;  // with `runtime`, by which nothing that is done already is tried again
  RuntimeOptions runtime;             // the same graph comes of it, to the byte
  Interval latency;                   // of the original / of the prepared one
  std::int64_t peak_before = 0, peak_after = 0;  // while loading
  std::int64_t bytes = 0;
  bool runs_as_fast = false;  // at 0.95 of the speed or more, with 95 % confidence
  bool is_better = false;     // loads faster by min_gain with 95 % confidence, and runs as fast
  std::size_t resumed = 0;
};

Outcome<PreparedLoad> prepare_load(const PrepareRequest& request);

}  // namespace isomer
