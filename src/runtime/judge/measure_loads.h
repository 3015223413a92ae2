// The time to make a session, of two models, by turns: a user waits for it before the first answer.
//
// Measured as latency is (measure.h), with one load as one leg. The first run is timed too: mapped weights
// are read at first use, so a faster load must not make the first run slower.
#pragma once

#include "runtime/judge/measure.h"

namespace isomer {

struct LoadSide {
  const ModelSource& model;
  const RuntimeOptions& runtime;
};

struct LoadMeasurement {
  PairMeasurement load;   // time(a) / time(b) of making a session
  PairMeasurement first;  // of making it and running it once
};

Outcome<LoadMeasurement> measure_loads(Worker& worker, const LoadSide& a, const LoadSide& b,
                                       const SharedFeeds& feeds, const MeasureOptions& options,
                                       const OnProgress& on_progress = {});

// Peak memory of making a session, in a process of its own, beyond the process without it.
Outcome<std::int64_t> load_peak_bytes(const WorkerOptions& worker, const LoadSide& side);

}  // namespace isomer
