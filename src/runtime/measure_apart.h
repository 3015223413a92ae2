// One model under two sets of options, compared as two models are (measure.h), but each in a process of its
// own: for options that are a state of a thread or of the whole process, and would change the other, too.
#pragma once

#include "runtime/measure.h"

namespace isomer {

// latency with the first options / latency with the second. Rounds of blocks A B B A B A A B, until the time
// is up; all of them count. `options.runtime` is not looked at but for its number of threads.
Outcome<PairMeasurement> measure_apart(const WorkerOptions& worker, const ModelSource& model,
                                       const SharedFeeds& feeds, const RuntimeOptions& first,
                                       const RuntimeOptions& second, const MeasureOptions& options);

}  // namespace isomer
