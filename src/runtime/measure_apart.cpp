#include "runtime/measure_apart.h"

#include <algorithm>

namespace isomer {
namespace {

constexpr std::int64_t kLegNs = 10'000'000, kWarmNs = 10'000'000, kWarmRuns = 2;
constexpr std::size_t kFewestRounds = 3, kMostRounds = 12;
constexpr int kBlocks = 2;  // of a round

}  // namespace

Outcome<PairMeasurement> measure_apart(const WorkerOptions& worker, const ModelSource& model,
                                       const SharedFeeds& feeds, const RuntimeOptions& first,
                                       const RuntimeOptions& second, const MeasureOptions& options) {
  const std::int64_t start = now_ns();
  const RuntimeOptions* sets[] = {&first, &second};
  std::unique_ptr<Worker> workers[2];
  for (auto& w : workers) {
    ISOMER_TRY(w, Worker::start(worker));
  }
  std::vector<Round> rounds;
  const auto seconds = [&] { return static_cast<double>(now_ns() - start) * 1e-9; };
  while (rounds.size() < kMostRounds && (rounds.size() < kFewestRounds || seconds() < options.seconds)) {
    Round round{rounds.size() % 2 == 0, {}};
    std::int64_t repetitions[2] = {};
    for (const int turn : {0, 1}) {
      const int which = round.a_made_first ? turn : 1 - turn;
      ISOMER_TRY_DO(workers[which]->load(0, model, *sets[which], &feeds));
      ISOMER_TRY(const WarmUp warm, workers[which]->warm(0, kWarmRuns, kWarmNs));
      repetitions[which] = std::max<std::int64_t>(1, kLegNs / std::max<std::int64_t>(1, warm.fastest_ns));
    }
    for (int k = 0; k < kBlocks; ++k) {
      BlockTimes block{repetitions[0], repetitions[1], {}, {}};
      std::size_t next[2] = {};
      for (const int which : kBlockOrder) {
        ISOMER_TRY(const auto times, workers[which]->time({{0, repetitions[which]}}));
        (which == 0 ? block.a : block.b)[next[which]++] = times.front();
      }
      round.blocks.push_back(block);
    }
    for (const auto& w : workers) ISOMER_TRY_DO(w->unload(0));
    rounds.push_back(std::move(round));
  }
  PairMeasurement result = judge_samples(std::move(rounds), {}, options);
  result.seconds = seconds();
  return result;
}

}  // namespace isomer
