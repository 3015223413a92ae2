// Two sides that can't share a process, compared as two models are (measure.h), but each in a separate
// process: options that are a state of a thread or of the whole process and would change the other side too,
// and two versions of a runtime.
#pragma once

#include "runtime/judge/measure.h"

namespace isomer {

// latency with the first options / latency with the second. Rounds of blocks A B B A B A A B, until the time
// is up; all of them count. `options.runtime` is not looked at but for its number of threads.
Outcome<PairMeasurement> measure_apart(const WorkerOptions& worker, const ModelSource& model,
                                       const SharedFeeds& feeds, const RuntimeOptions& first,
                                       const RuntimeOptions& second, const MeasureOptions& options);

struct MeasuredSide {
  Worker& worker;
  const ModelSource& model;
  const RuntimeOptions& runtime;
};
// latency of a / latency of b, in as many rounds as measure_rounds wants. A failure says which side it was.
Outcome<PairMeasurement> measure_sides(const MeasuredSide& a, const MeasuredSide& b, const SharedFeeds& feeds,
                                       const MeasureOptions& options, double against,
                                       const OnProgress& on_progress = {});

}  // namespace isomer
