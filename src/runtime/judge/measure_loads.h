// How long a session takes to be made, of two models, by turns: what a user waits for before the first
// answer.
//
// Measured as latency is (measure.h), with one load as one leg. The first run is timed, too: weights that are
// mapped are read when they are first used, and who loads faster must not pay for it there.
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
