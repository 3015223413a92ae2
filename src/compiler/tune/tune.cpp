#include "compiler/tune/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "base/hash.h"
#include "compiler/emit/compiler.h"
#include "compiler/emit/unit_choices.h"
#include "compiler/tune/time_plans.h"
#include "runtime/judge/machine.h"

namespace isomer {
namespace {

using lower::UnitChoice;
using lower::UnitChoices;

constexpr std::size_t kUnitsAtOnce = 2, kTriesAtOnce = 5;  // of one program
constexpr double kSecondsOfProgram = 0.6, kSecondsToConfirm = 1.2;
constexpr double kSearchPart = 0.7;    // of the time; the rest is for measuring again
constexpr double kWorth = 0.985;       // what is not faster than this is not taken
constexpr double kWorthTrying = 0.98;  // the same before it is measured again

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// An estimate for units that were not timed yet: products at 100 GFLOP/s, memory at 20 GB/s.
double estimated_ns(const lower::Plan& plan) {
  double products = 0, bytes = static_cast<double>(plan.weights);
  for (const lower::Nest& nest : plan.nests) {
    double points = 1;
    for (const Axis& a : nest.axes) points *= static_cast<double>(a.extent.concrete());
    bytes += 4 * points;
    if (const ExprRef sum = lower::main_reduction(nest.value))
      for (const Axis& a : sum->axes) points *= static_cast<double>(a.extent.concrete());
    products += points;
  }
  return products / 50 + bytes / 20;
}

// Equal for schedules that make the same loops, whatever their lines.
std::string loops_text(const lower::Plan& plan) {
  std::string out;
  for (const lower::Nest& nest : plan.nests) out += lower::text(nest, plan);
  return out;
}

struct Tried {
  UnitChoice choice = {};
  double ratio = 1;
};
// All units of the same key.
struct Kind {
  explicit Kind(const lower::Unit& of, lower::Exactness exactness) : unit(of), choices(of, exactness) {}
  const lower::Unit& unit;
  UnitChoices choices;
  std::size_t places = 0;
  double ns = 0;
  std::map<std::string, double> ratios;  // by lines
  std::set<std::string> seen;            // loops that were tried in this process
  std::vector<Tried> tried;              // of this process, and what was remembered
  int rounds = 0, empty = 0;
  std::optional<double> confirmed_ratio = {};  // on fresh samples
  std::string best_lines() const {
    const auto at = std::ranges::min_element(ratios, {}, [](const auto& r) { return r.second; });
    return at == ratios.end() ? "" : at->first;
  }
  double best() const {
    double out = 1;
    for (const auto& [lines, ratio] : ratios) out = std::min(out, ratio);
    return out;
  }
};

class Tuner {
 public:
  Tuner(Judge& judge, const std::vector<lower::Unit>& units, const TuneOptions& options)
      : judge_(judge),
        options_(options),
        exactness_(options.compile.exactness),
        records_(options.records, target()),
        random_(options.seed),
        start_(std::chrono::steady_clock::now()) {
    std::map<std::string, std::size_t> known;
    for (const lower::Unit& unit : units) {
      const auto [at, is_new] = known.try_emplace(unit.key, kinds_.size());
      if (is_new) kinds_.push_back(std::make_unique<Kind>(unit, exactness_));
      ++kinds_[at->second]->places;
    }
    std::erase_if(kinds_, [](const auto& kind) { return kind->choices.is_empty(); });
    for (const auto& kind : kinds_) kind->ns = estimated_ns(kind->choices.chosen());
    remember();
  }

  Outcome<TuneResult> run() {
    found_.units = kinds_.size();
    note();
    while (spent() < kSearchPart * options_.seconds) {
      std::vector<Kind*> next = next_kinds();
      if (next.empty()) break;
      say(fmt::format("tuning: {} schedules timed, {:.1f} % gained so far", found_.tried,
                      100 * (expected() - 1)));
      std::vector<Program> programs;
      for (Kind* kind : next) add_tries(*kind, programs);
      ISOMER_TRY_DO(time(programs, kSecondsOfProgram));
      note();
    }
    ISOMER_TRY_DO(confirm());
    found_.seconds = spent();
    note();
    found_.expected = expected();
    return std::move(found_);
  }

 private:
  struct Program {  // one schedule of a kind
    Kind* kind = nullptr;
    std::string lines = {};
    lower::Plan plan = {};
    UnitChoice choice = {};
    std::optional<double> ratio = {};
  };

  std::string target() const {
    const MachineName& machine = this_machine();
    const std::string& compiler = options_.compile.compiler;
    Hasher kernels;
    kernels.add(std::string_view(lower::kernels_of(exactness_)));
    return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", machine.cpu, machine.isa,
                       compiler.empty() ? find_compiler() : compiler, options_.compile.target,
                       static_cast<int>(exactness_), kernels.digest().hex());
  }
  double spent() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  void say(const std::string& now) const {
    if (options_.progress) options_.progress(now);
  }

  // The last word on each schedule holds.
  void remember() {
    std::map<std::string, Kind*> by_key;
    for (const auto& kind : kinds_) by_key[kind->unit.key] = kind.get();
    for (const TuneRecord& r : records_.known()) {
      const auto kind = by_key.find(r.unit);
      if (kind == by_key.end() || r.lines.empty()) continue;
      kind->second->ratios[r.lines] = r.ratio;
      kind->second->ns = r.ns;
      ++found_.remembered;
    }
    // A best schedule that is not available is dropped.
    for (const auto& kind : kinds_)
      while (!kind->ratios.empty() && kind->best() < 1) {
        const std::string lines = kind->best_lines();
        const auto choice = kind->choices.choice_of(lines);
        if (choice && lower::scheduled(kind->unit, lines, exactness_)) {
          kind->tried.push_back({*choice, kind->best()});
          break;
        }
        kind->ratios.erase(lines);
      }
  }

  // The units that take the longest and were examined the least.
  std::vector<Kind*> next_kinds() {
    std::vector<Kind*> all;
    for (const auto& kind : kinds_)
      if (kind->empty < 3) all.push_back(kind.get());
    const auto worth = [](const Kind* k) {
      return static_cast<double>(k->places) * k->ns * std::pow(0.6, k->rounds + 2 * k->empty);
    };
    std::ranges::sort(all, std::greater{}, worth);
    if (all.size() > kUnitsAtOnce) all.resize(kUnitsAtOnce);
    return all;
  }

  UnitChoice offspring(const Kind& kind) {
    std::vector<const Tried*> best;
    for (const Tried& t : kind.tried) best.push_back(&t);
    std::ranges::sort(best, {}, [](const Tried* t) { return t->ratio; });
    constexpr std::size_t kParents = 4;
    if (best.size() > kParents) best.resize(kParents);
    const std::size_t a = random_() % (best.size() + 1), b = random_() % (best.size() + 1);
    const auto choice = [&](std::size_t k) {
      return k < best.size() ? best[k]->choice : kind.choices.start();
    };
    UnitChoice out = random_() % 3 == 0 ? UnitChoices::crossed(choice(a), choice(b), random_) : choice(a);
    return kind.choices.changed(std::move(out), random_);
  }
  UnitChoice propose(const Kind& kind) {
    return options_.search == TuneSearch::Random ? kind.choices.drawn(random_) : offspring(kind);
  }

  // The unit as it is chosen, and schedules beside it.
  void add_tries(Kind& kind, std::vector<Program>& programs) {
    std::vector<Program> tries;
    for (std::size_t k = 0; k < 4 * kTriesAtOnce && tries.size() < kTriesAtOnce; ++k) {
      Program p{.kind = &kind, .choice = propose(kind)};
      p.lines = kind.choices.lines(p.choice);
      if (p.lines.empty() || kind.ratios.contains(p.lines)) continue;
      auto plan = lower::scheduled(kind.unit, p.lines, exactness_);
      if (!plan) {
        ++found_.refused;
        continue;
      }
      p.plan = std::move(*plan);
      if (kind.seen.insert(loops_text(p.plan)).second) tries.push_back(std::move(p));
    }
    if (tries.empty()) {
      ++kind.empty;
      return;
    }
    ++kind.rounds;
    programs.push_back({.kind = &kind, .plan = kind.choices.chosen()});
    std::ranges::move(tries, std::back_inserter(programs));
  }

  // Each kind's first program is the unit as it is chosen.
  Outcome<Done> time(std::vector<Program>& programs, double seconds) {
    if (programs.empty()) return Done{};
    std::vector<const lower::Plan*> plans;
    for (const Program& p : programs) plans.push_back(&p.plan);
    CompileRequest request = options_.compile;
    request.name = fmt::format("timing{}", programs_++);
    request.folder /= request.name;
    const auto rows = time_plans(judge_, plans, request, options_.runtime, seconds);
    if (!rows) {
      if (rows.error().kind == FailureKind::Stopped || rows.error().kind == FailureKind::Unavailable)
        return rows.error();
      if (++failures_ > 3) return rows.error();
      for (const Program& p : programs)
        if (!p.lines.empty()) p.kind->ratios[p.lines] = HUGE_VAL;
      return Done{};
    }
    std::vector<TuneRecord> records;
    std::size_t base = 0;
    for (std::size_t k = 0; k < programs.size(); ++k) {
      Program& p = programs[k];
      if (p.lines.empty()) {
        base = k;
        if (const double ns = median((*rows)[k]); ns > 0) p.kind->ns = ns;
        continue;
      }
      ++found_.tried;
      std::vector<double> ratios;
      for (std::size_t r = 0; r < (*rows)[k].size(); ++r)
        ratios.push_back((*rows)[k][r] / std::max(1.0, (*rows)[base][r]));
      p.ratio = ratios.empty() ? HUGE_VAL : median(ratios);
      p.kind->ratios[p.lines] = *p.ratio;
      p.kind->tried.push_back({p.choice, *p.ratio});
      if (ratios.empty()) continue;
      records.push_back({.unit = p.kind->unit.key, .lines = p.lines, .ns = p.kind->ns, .ratio = *p.ratio});
    }
    records_.keep(records);
    return Done{};
  }

  // The best few of each kind, on fresh samples: the fastest of many is partly luck.
  Outcome<Done> confirm() {
    std::vector<Kind*> all;
    for (const auto& kind : kinds_)
      if (kind->best() < kWorthTrying) all.push_back(kind.get());
    std::ranges::sort(all, std::greater{},
                      [](const Kind* k) { return static_cast<double>(k->places) * k->ns * (1 - k->best()); });
    constexpr std::size_t kAtOnce = 3;
    for (std::size_t first = 0; first < all.size() && spent() < options_.seconds; first += kAtOnce) {
      say(fmt::format("tuning: measuring the best again, {} of {}", first + 1, all.size()));
      std::vector<Program> programs;
      for (std::size_t k = first; k < std::min(all.size(), first + kAtOnce); ++k) add_best(*all[k], programs);
      ISOMER_TRY_DO(time(programs, kSecondsToConfirm));
      for (const Program& p : programs) {
        if (!p.ratio) continue;
        p.kind->confirmed_ratio = std::min(p.kind->confirmed_ratio.value_or(HUGE_VAL), *p.ratio);
        if (*p.ratio > kWorth || *p.ratio > *p.kind->confirmed_ratio) continue;
        found_.lines[p.kind->unit.key] = p.lines;
      }
    }
    for (const Kind* kind : all)
      if (const auto lines = found_.lines.find(kind->unit.key); lines != found_.lines.end())
        found_.taken.push_back({.key = kind->unit.key,
                                .lines = lines->second,
                                .ns = kind->ns,
                                .ratio = *kind->confirmed_ratio,
                                .places = kind->places});
    is_confirmed_ = true;
    return Done{};
  }
  // The unit as it is chosen, and the schedules that were the fastest so far.
  void add_best(Kind& kind, std::vector<Program>& programs) {
    constexpr std::size_t kBest = 3;
    programs.push_back({.kind = &kind, .plan = kind.choices.chosen()});
    std::vector<std::pair<double, std::string>> best;
    for (const auto& [lines, ratio] : kind.ratios)
      if (ratio < kWorthTrying) best.emplace_back(ratio, lines);
    std::ranges::sort(best);
    if (best.size() > kBest) best.resize(kBest);
    for (const auto& [ratio, lines] : best) {
      auto plan = lower::scheduled(kind.unit, lines, exactness_);
      const auto choice = kind.choices.choice_of(lines);
      if (plan && choice)
        programs.push_back({.kind = &kind, .lines = lines, .plan = std::move(*plan), .choice = *choice});
    }
  }

  double expected() const {
    double before = 0, after = 0;
    for (const auto& kind : kinds_) {
      const double ns = static_cast<double>(kind->places) * kind->ns;
      before += ns;
      const bool is_taken = found_.lines.contains(kind->unit.key);
      after += ns * (is_confirmed_ ? (is_taken ? *kind->confirmed_ratio : 1) : kind->best());
    }
    return after > 0 ? before / after : 1;
  }
  void note() { found_.curve.push_back({spent(), expected(), found_.tried}); }

  Judge& judge_;
  const TuneOptions& options_;
  lower::Exactness exactness_;
  TuningRecords records_;
  std::mt19937_64 random_;
  std::chrono::steady_clock::time_point start_;
  std::vector<std::unique_ptr<Kind>> kinds_;
  bool is_confirmed_ = false;
  int failures_ = 0;
  std::size_t programs_ = 0;
  TuneResult found_;
};

}  // namespace

std::vector<std::string> tune_searches() { return {"evolution", "random"}; }

Result<TuneSearch> tune_search(const std::string& word) {
  const std::vector<std::string> all = tune_searches();
  const auto at = std::ranges::find(all, word);
  if (at != all.end()) return static_cast<TuneSearch>(at - all.begin());
  // Whole models, docs/results/tuning.md: 1.031 by learned, 1.054 by evolution.
  if (word == "learned")
    return Error{"--tune-search learned was removed: evolution, the default, finds faster schedules"};
  return Error{fmt::format("--tune-search {}: there are {}", word, fmt::join(all, " and "))};
}

Outcome<TuneResult> tune(Judge& judge, const std::vector<lower::Unit>& units, const TuneOptions& options) {
  return Tuner(judge, units, options).run();
}

}  // namespace isomer
