#include "runtime/judge/measure.h"

#include <algorithm>
#include <cmath>

#include "runtime/judge/measure_rounds.h"

namespace isomer {
namespace {

constexpr double kExploring = 0.99, kReported = 0.95;
constexpr std::int64_t kLegNs = 5'000'000;  // eight legs are a block of 40 ms
constexpr std::int64_t kWarmNs = 8'000'000, kWarmRuns = 3;
constexpr std::int64_t kFewestBlocks = 3, kMostBlocks = 8;
constexpr std::size_t kFewestRounds = 4;  // before a look: below, Student's t is too wide to decide
constexpr std::size_t kFewestOfAll = 2;   // whatever the time: one with each order of creation
constexpr std::size_t kMostRounds = 200;
constexpr double kExploringShare = 0.6;  // of the time; the rest is for the fresh samples
constexpr double kFewRounds = 12;        // fewer are not parted into two halves
constexpr double kSlowNs = 1e8;          // such a run warms up in one
// An interval from two rounds is six times as wide as its spread, and one from six rounds 1.3 times. So
// rounds are as short as they can be where fewer than six would fit, and the first round where the time is
// short.
constexpr double kWantedRounds = 6, kShortSeconds = 5;

double per_run(const LegTime (&legs)[4], std::int64_t repetitions, bool cpu) {
  std::int64_t sum = 0;
  for (const LegTime& leg : legs) sum += cpu ? leg.cpu_ns : leg.wall_ns;
  return static_cast<double>(std::max<std::int64_t>(sum, 1)) / (4 * static_cast<double>(repetitions));
}

double ratio_of(const BlockTimes& block, bool cpu) {
  return per_run(block.a, block.a_repetitions, cpu) / per_run(block.b, block.b_repetitions, cpu);
}

Groups collect(const std::vector<Round>& rounds, const std::function<double(const BlockTimes&)>& value) {
  Groups groups;
  for (const Round& round : rounds) {
    auto& group = groups.emplace_back();
    for (const BlockTimes& block : round.blocks) group.push_back(value(block));
  }
  return groups;
}

Interval ratio_interval(const std::vector<Round>& rounds, bool cpu, double confidence, std::uint64_t seed) {
  const auto ratio = [cpu](const BlockTimes& block) { return ratio_of(block, cpu); };
  return median_interval(collect(rounds, ratio), confidence, seed);
}

bool decides_by_cpu(const MeasureOptions& options) {
  return options.clock == Clock::Cpu || (options.clock == Clock::Auto && options.runtime.threads == 1);
}

// Looks are few: each costs a bootstrap, and each is a chance to be fooled.
bool is_look(std::size_t rounds) { return rounds % (rounds < 12 ? 2 : rounds < 40 ? 4 : 20) == 0; }

bool excludes(const Interval& interval, double ratio) {
  return interval.is_above(ratio) || interval.is_below(ratio);
}

class Pairing {
 public:
  Pairing(const MakeRound& make, const MeasureOptions& options, double against, const OnProgress& on_progress)
      : make_(make), options_(options), against_(against), on_progress_(on_progress) {}

  Outcome<PairMeasurement> measure() {
    const bool cpu = decides_by_cpu(options_);
    std::vector<Round> explored, confirmed;
    bool in_two = options_.confirm, is_cut_short = false;
    for (;;) {
      ISOMER_TRY(const bool is_made, add_round(explored, false));
      is_cut_short = !is_made;
      if (is_cut_short) break;
      if (explored.size() < kFewestOfAll) continue;
      // By the last round's time: the first one may have read a whole runtime from a cold disk.
      if (explored.size() == kFewestOfAll) {
        has_large_difference_ =
            options_.confirm && !is_time_up(kExploringShare) && shows_large_difference(explored, cpu);
        if (has_large_difference_) break;
        in_two = in_two && round_seconds_ * kFewRounds < options_.seconds;
      }
      const bool time_is_up = is_time_up(in_two ? kExploringShare : 1) || explored.size() >= kMostRounds;
      if (options_.confirm && !in_two && !time_is_up) continue;
      if ((explored.size() < kFewestRounds || !is_look(explored.size())) && !time_is_up) continue;
      const Interval now = ratio_interval(explored, cpu, kExploring, options_.seed);
      report(false, explored.size(), now);
      if (excludes(now, against_) || time_is_up ||
          now.is_within(1 - options_.precision, 1 + options_.precision))
        break;
    }
    if (in_two && !is_cut_short &&
        (has_large_difference_ ||
         excludes(ratio_interval(explored, cpu, kReported, options_.seed), against_))) {
      const std::size_t wanted = std::max(explored.size(), kFewestRounds);
      for (;;) {
        ISOMER_TRY(const bool is_made, add_round(confirmed, true));
        is_cut_short = !is_made;
        if (is_cut_short) break;
        if (confirmed.size() < kFewestOfAll) continue;
        const bool time_is_up = is_time_up(1) || confirmed.size() >= kMostRounds;
        if ((confirmed.size() < wanted || !is_look(confirmed.size())) && !time_is_up) continue;
        const Interval now = ratio_interval(confirmed, cpu, kReported, options_.seed);
        report(true, confirmed.size(), now);
        if (excludes(now, options_.beyond) || time_is_up ||
            now.is_within(1 - options_.precision, 1 + options_.precision))
          break;
      }
    }
    if (confirmed.size() < kFewestOfAll) confirmed.clear();
    PairMeasurement result = judge_samples(std::move(explored), std::move(confirmed), options_);
    result.is_cut_short = is_cut_short;
    result.seconds = static_cast<double>(now_ns() - start_ns_) * 1e-9;
    return result;
  }

 private:
  double share() const {
    return static_cast<double>(now_ns() - start_ns_) * 1e-9 / std::max(options_.seconds, 1e-9);
  }

  // Whether this share is used up, or would be exceeded by more than half of another round.
  bool is_time_up(double most) const {
    const double round = round_seconds_ / std::max(options_.seconds, 1e-9);
    return share() + round / 2 > most;
  }

  void report(bool confirming, std::size_t rounds, std::optional<Interval> ratio) const {
    if (on_progress_) on_progress_({confirming, rounds, std::min(share(), 1.0), ratio});
  }

  bool shows_large_difference(const std::vector<Round>& rounds, bool cpu) const {
    if (options_.large <= 1) return false;
    bool is_faster = true, is_slower = true;
    for (const Round& round : rounds)
      for (const BlockTimes& block : round.blocks) {
        is_faster = is_faster && ratio_of(block, cpu) > options_.large;
        is_slower = is_slower && ratio_of(block, cpu) < 1 / options_.large;
      }
    return is_faster || is_slower;
  }

  // False: there was no time for it any more, and what is there is enough to answer with.
  Outcome<bool> add_round(std::vector<Round>& rounds, bool confirming) {
    const bool is_hurried =
        has_large_difference_ || (round_seconds_ == 0 ? options_.seconds < kShortSeconds
                                                      : round_seconds_ * kWantedRounds > options_.seconds);
    const RoundPlan plan{rounds.size() % 2 == 0,         is_slow_ ? 1 : kWarmRuns,    kWarmNs, kLegNs,
                         is_hurried ? 1 : kFewestBlocks, is_hurried ? 1 : kMostBlocks};
    const std::int64_t start = now_ns();
    auto made = make_(plan);
    const bool is_enough = rounds.size() >= kFewestOfAll || has_large_difference_;
    if (!made && made.error().kind == FailureKind::Stopped && is_enough) return false;
    ISOMER_TRY(Round round, std::move(made));
    round_seconds_ = static_cast<double>(now_ns() - start) * 1e-9;
    const BlockTimes& block = round.blocks.front();
    is_slow_ = per_run(block.a, block.a_repetitions, false) > kSlowNs &&
               per_run(block.b, block.b_repetitions, false) > kSlowNs;
    rounds.push_back(std::move(round));
    report(confirming, rounds.size(), std::nullopt);
    return true;
  }

  const MakeRound& make_;
  const MeasureOptions& options_;
  const double against_;
  const OnProgress& on_progress_;
  std::int64_t start_ns_ = now_ns();
  double round_seconds_ = 0;  // of the last one
  bool is_slow_ = false, has_large_difference_ = false;
};

}  // namespace

std::string_view text(PairVerdict verdict) {
  switch (verdict) {
    case PairVerdict::Faster: return "faster";
    case PairVerdict::Slower: return "slower";
    case PairVerdict::NoDifference: return "no difference seen";
  }
  ISOMER_UNREACHABLE("a verdict");
}

Outcome<PairMeasurement> measure_rounds(const MakeRound& make, const MeasureOptions& options, double against,
                                        const OnProgress& on_progress) {
  return Pairing(make, options, against, on_progress).measure();
}

Outcome<PairMeasurement> measure_pair(Worker& worker, const ModelSource& a, const ModelSource& b,
                                      const SharedFeeds& feeds, const MeasureOptions& options,
                                      const OnProgress& on_progress) {
  return measure_pair_against(worker, a, b, feeds, options, 1, on_progress);
}

Outcome<PairMeasurement> measure_pair_against(Worker& worker, const ModelSource& a, const ModelSource& b,
                                              const SharedFeeds& feeds, const MeasureOptions& options,
                                              double against, const OnProgress& on_progress) {
  worker.take_runtime_ns();
  const MakeRound make = [&](const RoundPlan& plan) {
    return worker.round(a, b, options.runtime, feeds, plan);
  };
  ISOMER_TRY(PairMeasurement result, measure_rounds(make, options, against, on_progress));
  result.own_seconds = result.seconds - static_cast<double>(worker.take_runtime_ns()) * 1e-9;
  return result;
}

PairMeasurement judge_samples(std::vector<Round> explored, std::vector<Round> confirmed,
                              const MeasureOptions& options) {
  PairMeasurement result;
  result.by_cpu_time = decides_by_cpu(options);
  const std::vector<Round>& rounds = confirmed.empty() ? explored : confirmed;
  const std::uint64_t seed = options.seed;
  result.wall_ratio = ratio_interval(rounds, false, kReported, seed);
  result.cpu_ratio = ratio_interval(rounds, true, kReported, seed);
  result.ratio = result.by_cpu_time ? result.cpu_ratio : result.wall_ratio;
  if (result.ratio.is_above(1)) result.verdict = PairVerdict::Faster;
  else if (result.ratio.is_below(1)) result.verdict = PairVerdict::Slower;
  const auto latency = [&](bool of_a, bool cpu) {
    const auto value = [&](const BlockTimes& block) {
      return of_a ? per_run(block.a, block.a_repetitions, cpu) : per_run(block.b, block.b_repetitions, cpu);
    };
    return median_interval(collect(rounds, value), kReported, seed);
  };
  result.a_wall_ns = latency(true, false), result.b_wall_ns = latency(false, false);
  result.a_cpu_ns = latency(true, true), result.b_cpu_ns = latency(false, true);
  result.explored = std::move(explored);
  result.confirmed = std::move(confirmed);
  return result;
}

Outcome<Latency> measure_latency(Worker& worker, const ModelSource& model, const SharedFeeds& feeds,
                                 const MeasureOptions& options, const OnProgress& on_progress) {
  constexpr std::size_t kRounds = 6, kLegs = 8;
  const std::int64_t start = now_ns();
  Groups wall, cpu;
  for (std::size_t i = 0; i < kRounds; ++i) {
    const double share = static_cast<double>(now_ns() - start) * 1e-9 / std::max(options.seconds, 1e-9);
    if (i >= kFewestOfAll && share > 1) break;
    if (on_progress) on_progress({false, i, std::min(share, 1.0), std::nullopt});
    ISOMER_TRY_DO(worker.load(0, model, options.runtime, &feeds));
    ISOMER_TRY(const WarmUp warm, worker.warm(0, kWarmRuns, kWarmNs));
    const Leg leg{0, std::max<std::int64_t>(1, 4 * kLegNs / std::max<std::int64_t>(1, warm.fastest_ns))};
    ISOMER_TRY(const auto times, worker.time(std::vector<Leg>(kLegs, leg)));
    wall.emplace_back(), cpu.emplace_back();
    for (const LegTime& time : times) {
      const auto runs = static_cast<double>(leg.repetitions);
      wall.back().push_back(static_cast<double>(std::max<std::int64_t>(1, time.wall_ns)) / runs);
      cpu.back().push_back(static_cast<double>(std::max<std::int64_t>(1, time.cpu_ns)) / runs);
    }
    ISOMER_TRY_DO(worker.unload(0));
  }
  return Latency{median_interval(wall, kReported, options.seed),
                 median_interval(cpu, kReported, options.seed)};
}

}  // namespace isomer
