// Timing in the worker: sessions warmed up, legs of runs, and two sessions by turns.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/engines/runtime.h"
#include "runtime/worker/worker.h"

namespace isomer {

// A session and what is known of its speed.
struct TimedSession {
  std::unique_ptr<Session> session = {};
  std::int64_t preparing_ns = 0;  // loading and warming up
  std::int64_t fastest_ns = 1;    // run while warming up
};

Outcome<WarmUp> warm_up(TimedSession& session, std::int64_t least_runs, std::int64_t least_ns);
Outcome<LegTime> time_leg(Session& session, std::int64_t repetitions);

struct PairTimes {
  std::int64_t repetitions[2] = {1, 1};
  std::vector<LegTime> legs = {};  // blocks in kBlockOrder
};

// One block without a pause. The first leg after a pause is slower than others, and so is one after a leg of
// the other model, whose data fill the caches: in A B B A B A A B, after a leg of B, both models have the
// same share of each kind. A round is worth its preparation: it lasts as long, within the plan's numbers of
// blocks.
Outcome<PairTimes> time_pair(const TimedSession& a, const TimedSession& b, const RoundPlan& plan);

}  // namespace isomer
