// Paired measuring: is model B faster than model A on this runtime, and by how much?
//
// One round: both sessions made anew in one process, in alternating order, warmed up, then blocks A B B A B A
// A B of at least 40 ms. A block gives one ratio, in which drift cancels, and so does the cost of caches that
// the other model filled. Rounds continue until a 99 % interval excludes 1, or is too narrow for a difference
// that matters, or time is up. A difference that was seen so is then measured again: the report and the
// verdict come from fresh samples only, so that stopping at a lucky moment gains nothing. If models are so
// slow that there is time for a few rounds only, all of them are made and evaluated once: nothing was
// stopped, so nothing is measured again.
//
// With one thread the ratio is of CPU time, which a busy machine disturbs least; else of wall time. Both are
// reported.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/judge/statistics.h"
#include "runtime/worker/worker.h"

namespace isomer {

enum class Clock : std::uint8_t { Auto, Wall, Cpu };

struct MeasureOptions {
  RuntimeOptions runtime = {};
  double seconds = 20;      // for all rounds of one pair; at least two rounds are made
  double precision = 0.01;  // an interval within 1 ± this ends the search for a difference
  Clock clock = Clock::Auto;
  bool confirm = true;  // a difference that was seen is measured again; false: for ranking only
  double beyond = 1;    // confirming goes on, while there is time, until the interval excludes this ratio
  // Where every block of the first rounds shows more than this, exploring ends, and the fresh samples are
  // few; 0: never.
  double large = 0;
  std::uint64_t seed = 0;
};

enum class PairVerdict : std::uint8_t { Faster, Slower, NoDifference };
std::string_view text(PairVerdict verdict);  // "faster", "slower", "no difference seen"

struct PairMeasurement {
  Interval ratio;                                   // latency(a) / latency(b), by the clock that decides
  PairVerdict verdict = PairVerdict::NoDifference;  // about b
  bool by_cpu_time = false;
  Interval wall_ratio, cpu_ratio;
  Interval a_wall_ns, b_wall_ns, a_cpu_ns, b_cpu_ns;  // of one run
  std::vector<Round> explored, confirmed;             // raw; confirmed is empty if no difference was seen
  double seconds = 0;
  double own_seconds = 0;  // of them, not spent inside of the runtime
  bool from_cache = false;
  bool is_cut_short = false;  // there was no time for all rounds: not what a cache should give back
};

struct MeasureProgress {
  bool confirming = false;
  std::size_t rounds = 0;
  double share = 0;               // of the time allowed
  std::optional<Interval> ratio;  // so far
};
using OnProgress = std::function<void(const MeasureProgress&)>;

Outcome<PairMeasurement> measure_pair(Worker& worker, const ModelSource& a, const ModelSource& b,
                                      const SharedFeeds& feeds, const MeasureOptions& options,
                                      const OnProgress& on_progress = {});

// The numbers again, from raw samples: what the timing cache gives back.
PairMeasurement judge_samples(std::vector<Round> explored, std::vector<Round> confirmed,
                              const MeasureOptions& options);

struct Latency {
  Interval wall_ns, cpu_ns;  // of one run
};
// One model alone.
Outcome<Latency> measure_latency(Worker& worker, const ModelSource& model, const SharedFeeds& feeds,
                                 const MeasureOptions& options, const OnProgress& on_progress = {});

}  // namespace isomer
