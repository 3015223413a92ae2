#include "runtime/worker/time_session.h"

#include <algorithm>

namespace isomer {

Outcome<WarmUp> warm_up(TimedSession& session, std::int64_t least_runs, std::int64_t least_ns) {
  const std::int64_t start = now_ns();
  WarmUp warm;
  while (warm.runs < least_runs || now_ns() - start < least_ns) {
    const std::int64_t begin = now_ns();
    ISOMER_TRY_DO(session.session->run());
    const std::int64_t spent = std::max<std::int64_t>(1, now_ns() - begin);
    warm.fastest_ns = warm.runs == 0 ? spent : std::min(warm.fastest_ns, spent);
    ++warm.runs;
  }
  session.preparing_ns += now_ns() - start;
  session.fastest_ns = std::max<std::int64_t>(1, warm.fastest_ns);
  return warm;
}

Outcome<LegTime> time_leg(Session& session, std::int64_t repetitions) {
  const std::int64_t cpu_start = cpu_ns(), start = now_ns();
  for (std::int64_t i = 0; i < repetitions; ++i) ISOMER_TRY_DO(session.run());
  const std::int64_t end = now_ns(), cpu_end = cpu_ns();
  return LegTime{end - start, cpu_end - cpu_start};
}

Outcome<PairTimes> time_pair(const TimedSession& a, const TimedSession& b, const RoundPlan& plan) {
  const TimedSession* sessions[] = {&a, &b};
  const auto [fast, slow] = std::minmax(a.fastest_ns, b.fastest_ns);
  PairTimes times;
  std::int64_t block_ns = 0;
  for (const int i : {0, 1}) {
    // Equal numbers, so that cold caches cost both the same, unless one is much slower.
    constexpr std::int64_t kMuchSlower = 4;
    const std::int64_t run_ns = slow > kMuchSlower * fast ? sessions[i]->fastest_ns : fast;
    times.repetitions[i] = std::max<std::int64_t>(1, (plan.leg_ns + run_ns - 1) / run_ns);
    block_ns += 4 * times.repetitions[i] * sessions[i]->fastest_ns;
  }
  constexpr std::int64_t kLongNs = 800'000'000;  // such blocks average enough by themselves
  const std::int64_t fewest = block_ns > kLongNs ? 1 : plan.fewest_blocks;
  const std::int64_t worth = (a.preparing_ns + b.preparing_ns) / block_ns;
  const std::int64_t blocks = std::max(fewest, std::min(plan.most_blocks, worth));
  ISOMER_TRY_DO(time_leg(*b.session, times.repetitions[1]));
  for (std::int64_t block = 0; block < blocks; ++block)
    for (const int which : kBlockOrder) {
      ISOMER_TRY(const LegTime leg, time_leg(*sessions[which]->session, times.repetitions[which]));
      times.legs.push_back(leg);
    }
  return times;
}

}  // namespace isomer
