// The rounds of a paired measurement, however a round is made: in one process (measure.h) or in two
// (measure_apart.h).
#pragma once

#include <functional>

#include "runtime/judge/measure.h"

namespace isomer {

// Makes one round of a pair as the plan says.
using MakeRound = std::function<Outcome<Round>(const RoundPlan&)>;

// All rounds that are needed to distinguish the ratio from `against`: for "is there a difference" that is 1.
Outcome<PairMeasurement> measure_rounds(const MakeRound& make, const MeasureOptions& options, double against,
                                        const OnProgress& on_progress = {});

// The same of two models in one process.
Outcome<PairMeasurement> measure_pair_against(Worker& worker, const ModelSource& a, const ModelSource& b,
                                              const SharedFeeds& feeds, const MeasureOptions& options,
                                              double against, const OnProgress& on_progress = {});

}  // namespace isomer
