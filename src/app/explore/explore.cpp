#include "app/explore/explore.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>

#include "app/explore/exploration_records.h"
#include "base/hash.h"
#include "runtime/judge/energy.h"
#include "runtime/judge/machine.h"
#include "runtime/judge/measure_apart.h"

namespace isomer {
namespace {

using Json = nlohmann::json;

constexpr double kPromising = 1.002;       // an estimate below this is not tried in company
constexpr double kWorthAdding = 1.003;     // by which a set must beat the set without its last pass
constexpr std::size_t kMostInCompany = 8;  // passes that are combined
constexpr std::size_t kExhaustive = 5;     // of which all subsets are tried: 26 beside the single ones
constexpr std::size_t kControls = 8;       // passes of a negative control: about as many as models have
constexpr std::size_t kPeaks = 3;  // pairs of processes whose peaks are compared; twice that to confirm
constexpr double kEnergyLegSeconds = 0.2;  // the counter is brought up to date every millisecond
constexpr std::array kObjectives = {"latency", "load-time", "memory", "size", "energy"};
constexpr std::array kModes = {"fast", "mixed", "full"};

std::string key_of(const std::vector<Pass>& passes) {
  std::vector<std::string> names = names_of(passes);
  std::ranges::sort(names);
  std::string key;
  for (const std::string& name : names) key += (key.empty() ? "" : " + ") + name;
  return key;
}

// A failure that is about the trial; others end the exploration.
bool is_about_trial(const Failure& failure) {
  return failure.kind != FailureKind::Unavailable && failure.kind != FailureKind::Stopped;
}

class Explorer {
 public:
  Explorer(const ExploreRequest& request, SharedFeeds feeds, std::unique_ptr<Judge> a,
           std::unique_ptr<Judge> b, ExplorationRecords records)
      : request_(request),
        base_(request.measure.runtime),
        feeds_(std::move(feeds)),
        a_(std::move(a)),
        b_(std::move(b)),
        records_(std::move(records)) {}

  Outcome<ExploreRun> run(const std::vector<Pass>& registry) {
    run_.version = a_->version();
    run_.counts_energy = request_.objective == Objective::Energy && energy_.has_value();
    ISOMER_TRY_DO(look_at_base());
    ISOMER_TRY_DO(scan(registry));
    ISOMER_TRY_DO(combine());
    ISOMER_TRY_DO(settle());
    run_.runtime = run_.is_better ? with_passes(base_, run_.best) : base_;
    run_.resumed = records_.known();
    return std::move(run_);
  }

 private:
  struct Dumped {
    std::string digest;
    std::int64_t bytes = 0;
  };

  // The graph that the runtime makes with these passes left out.
  Outcome<Dumped> dump(const std::vector<Pass>& passes, const char* purpose = "graph") {
    const std::string key = fmt::format("{} {}", purpose, key_of(passes));
    if (const Json* known = records_.find(key)) {
      if (known->contains("failure")) return Failure{FailureKind::Refused, known->at("failure")};
      return Dumped{known->at("digest"), known->at("bytes")};
    }
    ISOMER_TRY(Worker * worker, b_->worker());
    const auto dumped = worker->dump(request_.model, with_passes(base_, passes), "weights");
    if (!dumped) {
      if (!is_about_trial(dumped.error())) return dumped.error();
      ISOMER_TRY_DO(records_.add(key, {{"failure", dumped.error().what}}));
      return Failure{FailureKind::Refused, dumped.error().what};
    }
    const Dumped out{digest_of(*dumped),
                     static_cast<std::int64_t>(dumped->graph.size + dumped->weights.size)};
    ISOMER_TRY_DO(records_.add(key, {{"digest", out.digest}, {"bytes", out.bytes}}));
    return out;
  }

  Outcome<Done> look_at_base() {
    ISOMER_TRY(const Dumped first, dump({}));
    ISOMER_TRY(const Dumped second, dump({}, "graph again"));
    base_digest_ = first.digest;
    run_.bytes = first.bytes;
    if (first.digest != second.digest)
      run_.note = "the runtime does not make the same graph twice: every pass counts as one with an effect";
    return Done{};
  }

  Outcome<Done> scan(const std::vector<Pass>& registry) {
    for (std::size_t i = 0; i < registry.size(); ++i) {
      const Pass& pass = registry[i];
      request_.progress(fmt::format("{} of {}: {}", i + 1, registry.size(), pass.name));
      ExploreTrial trial{.passes = {pass}};
      if (pass.kind != Pass::Kind::Setting) {
        const auto dumped = dump(trial.passes);
        if (!dumped && dumped.error().kind != FailureKind::Refused) return dumped.error();
        if (dumped) {
          trial.bytes = dumped->bytes;
          trial.changes_graph = dumped->digest != base_digest_;
        } else {
          trial.failure = dumped.error().what;
        }
      }
      const bool is_wanted = request_.control ? is_control(trial) : trial.changes_graph.value_or(true);
      if (trial.failure.empty() && is_wanted) ISOMER_TRY_DO(measure(trial));
      run_.singles.push_back(std::move(trial));
    }
    return Done{};
  }

  bool is_control(const ExploreTrial& trial) const {
    const auto measured =
        std::ranges::count_if(run_.singles, [](const auto& t) { return t.ratio.has_value(); });
    return trial.changes_graph == false && static_cast<std::size_t>(measured) < kControls;
  }

  // Trials with equal graphs and settings are one.
  Outcome<Done> measure(ExploreTrial& trial) {
    std::vector<Pass> in_graph, settings;
    for (const Pass& pass : trial.passes)
      (pass.kind == Pass::Kind::Setting ? settings : in_graph).push_back(pass);
    if (request_.objective == Objective::Size && !settings.empty()) return Done{};
    ISOMER_TRY(const Dumped dumped, dump(in_graph));
    trial.bytes = dumped.bytes;
    if (!in_graph.empty()) trial.changes_graph = dumped.digest != base_digest_;
    const std::string same = dumped.digest + ' ' + key_of(settings);
    if (const auto known = measured_.find(same); known != measured_.end() && !request_.control) {
      trial.ratio = known->second;
      return Done{};
    }
    ISOMER_TRY_DO(compare(trial, "trial", *a_, *b_, false));
    if (trial.ratio) measured_[same] = *trial.ratio;
    return Done{};
  }

  Outcome<Done> compare(ExploreTrial& trial, const char* purpose, Judge& a, Judge& b, bool is_last) {
    const std::string key = fmt::format("{} {}", purpose, key_of(trial.passes));
    if (const Json* known = records_.find(key)) {
      if (known->contains("failure")) trial.failure = known->at("failure");
      else trial.ratio = interval_from(known->at("ratio"));
      return Done{};
    }
    const auto ratio = ratio_of(trial, a, b, is_last);
    if (!ratio) {
      if (!is_about_trial(ratio.error()) || ratio.error().model == 0) return ratio.error();
      trial.failure = ratio.error().what;
      return records_.add(key, {{"failure", trial.failure}});
    }
    trial.ratio = *ratio;
    return records_.add(key, {{"ratio", interval_record(*ratio)}});
  }

  Outcome<Interval> ratio_of(const ExploreTrial& trial, Judge& a, Judge& b, bool is_last) {
    const RuntimeOptions options = with_passes(base_, trial.passes);
    if (request_.objective == Objective::Size) {
      const double ratio =
          static_cast<double>(run_.bytes) / static_cast<double>(std::max<std::int64_t>(1, trial.bytes));
      return Interval{ratio, ratio, ratio};
    }
    if (request_.objective == Objective::Memory) {
      Groups ratios;
      for (std::size_t k = 0; k < (is_last ? 2 * kPeaks : kPeaks); ++k) {
        ISOMER_TRY(const std::int64_t before, a.peak_bytes(request_.model, feeds_, base_));
        ISOMER_TRY(const std::int64_t after, b.peak_bytes(request_.model, feeds_, options));
        ratios.push_back({static_cast<double>(std::max<std::int64_t>(1, before)) /
                          static_cast<double>(std::max<std::int64_t>(1, after))});
      }
      return median_interval(ratios, 0.95, request_.measure.seed);
    }
    if (run_.counts_energy) return energy_ratio(options, a, b, is_last);
    MeasureOptions measure = request_.measure;
    if (request_.objective == Objective::Energy) measure.clock = Clock::Cpu;
    measure.confirm = is_last;
    if (is_last) measure.seconds *= kSettling;
    ISOMER_TRY(Worker * worker_a, a.worker());
    ISOMER_TRY(Worker * worker_b, b.worker());
    ISOMER_TRY(const PairMeasurement measured,
               measure_sides({*worker_a, request_.model, base_}, {*worker_b, request_.model, options}, feeds_,
                             measure, 1));
    return measured.ratio;
  }

  // The energy of one run, as the processor counts it: for the whole package, so both sides alternate, A B B
  // A.
  Outcome<Interval> energy_ratio(const RuntimeOptions& options, Judge& a, Judge& b, bool is_last) {
    const double seconds = request_.measure.seconds * (is_last ? kSettling : 1);
    std::array<Worker*, 2> workers{};
    for (int side = 0; side < 2; ++side) {
      ISOMER_TRY(workers.at(static_cast<std::size_t>(side)), (side == 0 ? a : b).worker());
      auto loaded = workers.at(static_cast<std::size_t>(side))
                        ->load(0, request_.model, side == 0 ? base_ : options, &feeds_);
      if (!loaded.ok()) {
        Failure failure = loaded.error();
        failure.model = side;
        return failure;
      }
    }
    Groups ratios;
    for (double spent = 0; spent < seconds || ratios.size() < 3; spent += 4 * kEnergyLegSeconds) {
      std::array<double, 2> joules{};
      for (const std::size_t side : {0U, 1U, 1U, 0U}) {
        const auto before = energy_->joules();
        ISOMER_TRY(const WarmUp runs,
                   workers.at(side)->warm(0, 1, static_cast<std::int64_t>(kEnergyLegSeconds * 1e9)));
        const auto after = energy_->joules();
        if (!before || !after)
          return Failure{FailureKind::Unavailable, "the energy counter is no longer readable"};
        joules.at(side) += (*after - *before) / static_cast<double>(std::max<std::int64_t>(1, runs.runs));
      }
      if (joules[0] > 0 && joules[1] > 0) ratios.push_back({joules[0] / joules[1]});
      else if (spent > 2 * seconds) break;
    }
    for (Worker* worker : workers) ISOMER_TRY_DO(worker->unload(0));
    if (ratios.empty()) return Failure{FailureKind::Unavailable, "the energy counter does not change"};
    return median_interval(ratios, 0.95, request_.measure.seed);
  }

  // The passes to combine: those that helped alone, most first.
  std::vector<ExploreTrial> promising() const {
    std::vector<ExploreTrial> out;
    for (const ExploreTrial& trial : run_.singles)
      if (trial.ratio && trial.ratio->estimate > kPromising && !trial.passes[0].changes_values &&
          std::ranges::none_of(
              out, [&](const ExploreTrial& t) { return t.ratio->estimate == trial.ratio->estimate; }))
        out.push_back(trial);
    std::ranges::stable_sort(out, [](const ExploreTrial& x, const ExploreTrial& y) {
      return x.ratio->estimate > y.ratio->estimate;
    });
    if (out.size() > kMostInCompany) out.resize(kMostInCompany);
    return out;
  }

  // The better of the best so far and this set.
  Outcome<Done> try_set(std::vector<Pass> passes, std::optional<ExploreTrial>& best) {
    ExploreTrial trial{.passes = std::move(passes)};
    request_.progress("together: " + key_of(trial.passes));
    const auto done = measure(trial);
    if (!done && is_about_trial(done.error()) && done.error().model != 0) trial.failure = done.error().what;
    else if (!done) return done.error();
    if (trial.ratio && (!best || trial.ratio->estimate > best->ratio->estimate * kWorthAdding)) best = trial;
    run_.sets.push_back(std::move(trial));
    return Done{};
  }

  Outcome<Done> combine() {
    const std::vector<ExploreTrial> helpful = promising();
    std::optional<ExploreTrial> best;
    if (!helpful.empty()) best = helpful.front();
    if (request_.mode == ExploreMode::Fast) {
      std::vector<Pass> sure;
      for (const ExploreTrial& trial : helpful)
        if (trial.ratio->is_above(1)) sure.push_back(trial.passes[0]);
      if (sure.size() > 1) ISOMER_TRY_DO(try_set(sure, best));
    } else {
      std::size_t next = 1;
      if (request_.mode == ExploreMode::Full) {
        next = std::min(kExhaustive, helpful.size());
        for (std::size_t bits = 1; bits < (std::size_t{1} << next); ++bits) {
          std::vector<Pass> subset;
          for (std::size_t i = 0; i < next; ++i)
            if ((bits >> i & 1U) != 0) subset.push_back(helpful[i].passes[0]);
          if (subset.size() > 1) ISOMER_TRY_DO(try_set(std::move(subset), best));
        }
      }
      for (; next < helpful.size(); ++next) {
        std::vector<Pass> passes = best->passes;
        passes.push_back(helpful[next].passes[0]);
        ISOMER_TRY_DO(try_set(std::move(passes), best));
      }
    }
    if (best) run_.best = best->passes, best_bytes_ = best->bytes;
    return Done{};
  }

  // Once more, in processes that nothing was measured in.
  Outcome<Done> settle() {
    if (run_.best.empty()) return Done{};
    request_.progress("final comparison of the best set: " + key_of(run_.best));
    ISOMER_TRY(const auto a, Judge::start(request_.worker));
    ISOMER_TRY(const auto b, Judge::start(request_.worker));
    ExploreTrial trial{.passes = run_.best, .bytes = best_bytes_};
    ISOMER_TRY_DO(compare(trial, "last", *a, *b, true));
    run_.ratio = trial.ratio;
    run_.is_better = trial.ratio && trial.ratio->is_above(1) && trial.ratio->estimate >= request_.min_gain;
    return Done{};
  }

  const ExploreRequest& request_;
  const RuntimeOptions base_;
  SharedFeeds feeds_;
  std::unique_ptr<Judge> a_, b_;
  ExplorationRecords records_;
  std::optional<EnergyCounter> energy_ = EnergyCounter::open();
  std::string base_digest_;
  std::int64_t best_bytes_ = 0;
  std::map<std::string, Interval> measured_;
  ExploreRun run_;
};

}  // namespace

std::string_view text(Objective objective) { return kObjectives.at(static_cast<std::size_t>(objective)); }
std::string_view text(ExploreMode mode) { return kModes.at(static_cast<std::size_t>(mode)); }

std::string digest_of(const DumpedModel& dumped) {
  Hasher hasher;
  hasher.add_bytes(dumped.graph.data, dumped.graph.size);
  hasher.add_bytes(dumped.weights.data, dumped.weights.size);
  return hasher.digest().hex();
}

nlohmann::json question_of(const ExploreRequest& request, const std::string& version) {
  return {{"model", request.model_digest},
          {"inputs", request.inputs},
          {"objective", text(request.objective)},
          {"mode", text(request.mode)},
          {"runtime", version},
          {"options", request.measure.runtime.text()},
          {"seconds", request.measure.seconds},
          {"seed", request.measure.seed},
          {"min_gain", request.min_gain},
          {"control", request.control},
          {"machine", this_machine().cpu}};
}

Outcome<ExploreRun> explore(const ExploreRequest& request) {
  ISOMER_TRY(SharedFeeds feeds, SharedFeeds::make(request.feeds));
  ISOMER_TRY(auto a, Judge::start(request.worker));
  ISOMER_TRY(auto b, Judge::start(request.worker));
  ISOMER_TRY(auto records, ExplorationRecords::open(request.records, question_of(request, a->version())));
  const auto registry = passes_of(request.worker.library, request.measure.runtime.threads);
  return Explorer(request, std::move(feeds), std::move(a), std::move(b), std::move(records)).run(registry);
}

}  // namespace isomer
