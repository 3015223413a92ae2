#include "runtime/judge/measure_loads.h"

#include <algorithm>

#include "runtime/judge/measure_rounds.h"

namespace isomer {
namespace {

LegTime operator+(const LegTime& a, const LegTime& b) { return {a.wall_ns + b.wall_ns, a.cpu_ns + b.cpu_ns}; }

// Rounds of one block, each leg a load; those of the first runs beside them.
class LoadRounds {
 public:
  LoadRounds(Worker& worker, const LoadSide& a, const LoadSide& b, const SharedFeeds& feeds)
      : worker_(worker), sides_{&a, &b}, feeds_(feeds) {}

  Outcome<Round> make(const RoundPlan& plan) {
    if (first_.empty())  // the first load of a process reads the runtime's own tables
      for (const int which : {0, 1}) ISOMER_TRY_DO(load(which));
    BlockTimes loads, firsts;
    std::size_t next[2] = {};
    for (const int step : kBlockOrder) {
      const int which = plan.a_made_first ? step : 1 - step;
      ISOMER_TRY(const Times times, load(which));
      const std::size_t at = next[which]++;
      (which == 0 ? loads.a : loads.b)[at] = times.load;
      (which == 0 ? firsts.a : firsts.b)[at] = times.load + times.run;
    }
    first_.push_back({plan.a_made_first, {firsts}});
    return Round{plan.a_made_first, {loads}};
  }

  // As many as the last of the measurement's rounds.
  std::vector<Round> take_first(std::size_t count) {
    first_.erase(first_.begin(), first_.end() - static_cast<std::ptrdiff_t>(std::min(count, first_.size())));
    return std::move(first_);
  }

 private:
  struct Times {
    LegTime load, run;
  };

  Outcome<Times> load(int which) {
    auto times = try_load(*sides_[which]);
    if (times) return times;
    Failure failure = times.error();
    failure.model = which;
    return failure;
  }

  Outcome<Times> try_load(const LoadSide& side) {
    ISOMER_TRY(const LegTime load, worker_.time_load(0, side.model, side.runtime, &feeds_));
    ISOMER_TRY(const auto run, worker_.time({{0, 1}}));
    ISOMER_TRY_DO(worker_.unload(0));
    return Times{load, run.front()};
  }

  Worker& worker_;
  const LoadSide* sides_[2];
  const SharedFeeds& feeds_;
  std::vector<Round> first_;
};

}  // namespace

Outcome<LoadMeasurement> measure_loads(Worker& worker, const LoadSide& a, const LoadSide& b,
                                       const SharedFeeds& feeds, const MeasureOptions& options,
                                       const OnProgress& on_progress) {
  LoadRounds rounds(worker, a, b, feeds);
  const MakeRound make = [&](const RoundPlan& plan) { return rounds.make(plan); };
  LoadMeasurement out;
  ISOMER_TRY(out.load, measure_rounds(make, options, 1, on_progress));
  const std::size_t counted =
      out.load.confirmed.empty() ? out.load.explored.size() : out.load.confirmed.size();
  out.first = judge_samples(rounds.take_first(counted), {}, options);
  return out;
}

Outcome<std::int64_t> load_peak_bytes(const WorkerOptions& worker, const LoadSide& side) {
  ISOMER_TRY(const auto fresh, Worker::start(worker));
  ISOMER_TRY(const ProcessMemory before, fresh->memory());
  ISOMER_TRY_DO(fresh->load(0, side.model, side.runtime, nullptr));
  ISOMER_TRY(const ProcessMemory after, fresh->memory());
  return std::max<std::int64_t>(0, after.peak_bytes - before.resident_bytes);
}

}  // namespace isomer
