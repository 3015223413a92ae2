#include "runtime/judge/measure_apart.h"

#include <algorithm>

#include "runtime/judge/measure_rounds.h"

namespace isomer {
namespace {

constexpr std::int64_t kLegNs = 10'000'000, kWarmNs = 10'000'000, kWarmRuns = 2;
constexpr std::size_t kFewestRounds = 3, kMostRounds = 12;
constexpr int kBlocks = 2;  // of a round

template <class T>
Outcome<T> said_of(int which, Outcome<T> outcome) {
  if (outcome) return outcome;
  Failure failure = outcome.error();
  failure.model = which;
  return failure;
}

Outcome<Round> make_round(const MeasuredSide& a, const MeasuredSide& b, const SharedFeeds& feeds,
                          const RoundPlan& plan) {
  const MeasuredSide* sides[] = {&a, &b};
  Round round{plan.a_made_first, {}};
  std::int64_t repetitions[2] = {};
  for (const int turn : {0, 1}) {
    const int which = plan.a_made_first ? turn : 1 - turn;
    const MeasuredSide& side = *sides[which];
    ISOMER_TRY_DO(said_of(which, side.worker.load(0, side.model, side.runtime, &feeds)));
    ISOMER_TRY(const WarmUp warm, said_of(which, side.worker.warm(0, plan.warm_runs, plan.warm_ns)));
    repetitions[which] = std::max<std::int64_t>(1, plan.leg_ns / std::max<std::int64_t>(1, warm.fastest_ns));
  }
  for (std::int64_t k = 0; k < plan.fewest_blocks; ++k) {
    BlockTimes block{repetitions[0], repetitions[1], {}, {}};
    std::size_t next[2] = {};
    for (const int which : kBlockOrder) {
      ISOMER_TRY(const auto times, said_of(which, sides[which]->worker.time({{0, repetitions[which]}})));
      (which == 0 ? block.a : block.b)[next[which]++] = times.front();
    }
    round.blocks.push_back(block);
  }
  for (const int which : {0, 1}) ISOMER_TRY_DO(said_of(which, sides[which]->worker.unload(0)));
  return round;
}

}  // namespace

Outcome<PairMeasurement> measure_apart(const WorkerOptions& worker, const ModelSource& model,
                                       const SharedFeeds& feeds, const RuntimeOptions& first,
                                       const RuntimeOptions& second, const MeasureOptions& options) {
  const std::int64_t start = now_ns();
  ISOMER_TRY(const auto worker_a, Worker::start(worker));
  ISOMER_TRY(const auto worker_b, Worker::start(worker));
  const MeasuredSide a{*worker_a, model, first}, b{*worker_b, model, second};
  std::vector<Round> rounds;
  const auto seconds = [&] { return static_cast<double>(now_ns() - start) * 1e-9; };
  while (rounds.size() < kMostRounds && (rounds.size() < kFewestRounds || seconds() < options.seconds)) {
    const RoundPlan plan{rounds.size() % 2 == 0, kWarmRuns, kWarmNs, kLegNs, kBlocks, kBlocks};
    ISOMER_TRY(Round round, make_round(a, b, feeds, plan));
    rounds.push_back(std::move(round));
  }
  PairMeasurement result = judge_samples(std::move(rounds), {}, options);
  result.seconds = seconds();
  return result;
}

Outcome<PairMeasurement> measure_sides(const MeasuredSide& a, const MeasuredSide& b, const SharedFeeds& feeds,
                                       const MeasureOptions& options, double against,
                                       const OnProgress& on_progress) {
  const MakeRound make = [&](RoundPlan plan) {
    plan.leg_ns = std::max(plan.leg_ns, kLegNs);  // each leg is a request: a message and its answer
    return make_round(a, b, feeds, plan);
  };
  return measure_rounds(make, options, against, on_progress);
}

}  // namespace isomer
