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
#include "compiler/tune/boosted_trees.h"
#include "runtime/judge/machine.h"
#include "runtime/judge/scratch_model.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;
using lower::UnitChoice;
using lower::UnitChoices;

constexpr std::size_t kUnitsAtOnce = 2, kTriesAtOnce = 5;  // of one program
constexpr std::size_t kPool = 32;                          // that the learned order is of
constexpr std::size_t kFewestRecords = 12;                 // to learn from
constexpr double kSecondsOfProgram = 0.6, kSecondsOfProof = 1.2;
constexpr double kSearchPart = 0.7;    // of the time; the rest is for measuring again
constexpr double kWorth = 0.985;       // what is not faster than this is not taken
constexpr double kWorthTrying = 0.98;  // the same before it is measured again

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// A guess, for units that nobody has timed yet: products at 100 GFLOP/s, memory at 20 GB/s.
double guessed_ns(const lower::Plan& plan) {
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

struct Tried {
  UnitChoice choice = {};
  double ratio = 1;
};
struct Kind {
  explicit Kind(const lower::Unit& of, lower::Exactness exactness) : unit(of), choices(of, exactness) {}
  const lower::Unit& unit;
  UnitChoices choices;
  std::size_t places = 0;
  double ns = 0;
  std::map<std::string, double> ratios;  // by lines
  std::set<std::vector<double>> seen;    // features of what was tried, or is being
  std::vector<Tried> tried;              // of this process, and what was remembered
  int rounds = 0, empty = 0;
  std::optional<double> proved = {};  // measured again
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
    for (const auto& kind : kinds_) kind->ns = guessed_ns(kind->choices.chosen());
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
    ISOMER_TRY_DO(prove());
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
      learn(r);
      const auto kind = by_key.find(r.unit);
      if (kind == by_key.end() || r.lines.empty()) continue;
      kind->second->ratios[r.lines] = r.ratio;
      kind->second->ns = r.ns;
      kind->second->seen.insert(r.features);
      ++found_.remembered;
    }
    // What can't be had of the best is forgotten.
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
  void learn(const TuneRecord& r) {
    if (!features_.empty() && r.features.size() != features_[0].size()) return;
    features_.push_back(r.features);
    logs_.push_back(std::clamp(std::log(r.ratio), -2.0, 2.0));
    is_stale_ = true;
  }

  // Those that take the longest and were looked at the least.
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
  UnitChoice proposed(const Kind& kind) {
    if (options_.search == TuneSearch::Random) return kind.choices.drawn(random_);
    if (options_.search == TuneSearch::Evolution) return offspring(kind);
    return random_() % 2 == 0 ? offspring(kind) : kind.choices.drawn(random_);
  }

  // The unit as it is chosen, and schedules beside it.
  void add_tries(Kind& kind, std::vector<Program>& programs) {
    struct Candidate {
      Program program;
      std::vector<double> features;
      double predicted = 0;
    };
    const bool can_learn = options_.search == TuneSearch::Learned && features_.size() >= kFewestRecords;
    if (can_learn && is_stale_) {
      trees_ = BoostedTrees::fitted(features_, logs_, {});
      is_stale_ = false;
    }
    std::vector<Candidate> pool;
    std::set<std::vector<double>> seen = kind.seen;
    const std::size_t wanted = can_learn ? kPool : kTriesAtOnce;
    for (std::size_t k = 0; k < 4 * wanted && pool.size() < wanted; ++k) {
      Candidate c;
      c.program.kind = &kind;
      c.program.choice = proposed(kind);
      c.program.lines = kind.choices.lines(c.program.choice);
      if (c.program.lines.empty() || kind.ratios.contains(c.program.lines)) continue;
      auto plan = lower::scheduled(kind.unit, c.program.lines, exactness_);
      if (!plan) {
        ++found_.refused;
        continue;
      }
      c.program.plan = std::move(*plan);
      c.features = features(kind, c.program.plan);
      if (!seen.insert(c.features).second) continue;
      if (can_learn) c.predicted = trees_.predict(c.features);
      pool.push_back(std::move(c));
    }
    if (pool.empty()) {
      ++kind.empty;
      return;
    }
    ++kind.rounds;
    // One in five of what is tried is nobody's favourite: so it learns what it does not know.
    if (can_learn) std::ranges::stable_sort(pool, {}, &Candidate::predicted);
    if (can_learn && pool.size() > kTriesAtOnce)
      std::swap(pool[kTriesAtOnce - 1],
                pool[kTriesAtOnce - 1 + random_() % (pool.size() - kTriesAtOnce + 1)]);
    if (pool.size() > kTriesAtOnce) pool.resize(kTriesAtOnce);
    programs.push_back({.kind = &kind, .plan = kind.choices.chosen()});
    for (Candidate& c : pool) {
      kind.seen.insert(c.features);
      programs.push_back(std::move(c.program));
    }
  }
  // Of a schedule, and how far it is from what is chosen.
  static std::vector<double> features(const Kind& kind, const lower::Plan& plan) {
    std::vector<double> out = lower::features_of(plan);
    const std::vector<double> chosen = lower::features_of(kind.choices.chosen());
    for (std::size_t k = 0; k < chosen.size(); ++k) out.push_back(out[k] - chosen[k]);
    return out;
  }

  // Each kind's first program is the unit as it is chosen.
  Outcome<Done> time(std::vector<Program>& programs, double seconds) {
    if (programs.empty()) return Done{};
    std::vector<const lower::Plan*> plans;
    for (const Program& p : programs) plans.push_back(&p.plan);
    const auto rows = samples(plans, seconds);
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
      records.push_back({.unit = p.kind->unit.key,
                         .lines = p.lines,
                         .ns = p.kind->ns,
                         .ratio = *p.ratio,
                         .features = features(*p.kind, p.plan)});
      learn(records.back());
    }
    records_.keep(records);
    return Done{};
  }

  // Nanoseconds by schedule and round.
  Outcome<std::vector<std::vector<double>>> samples(const std::vector<const lower::Plan*>& plans,
                                                    double seconds) {
    const std::string name = fmt::format("timing{}", programs_++);
    CompileRequest request = options_.compile;
    request.name = name;
    request.folder /= name;
    const auto refused = [](const Error& e) { return Failure{FailureKind::Refused, e.message}; };
    const auto extents =
        std::vector<std::int64_t>{static_cast<std::int64_t>(plans.size()), lower::kTimedRounds};
    const auto library = compile_timing(lower::timing_text(plans, name, exactness_), extents, request);
    const auto model = timing_model(name, extents);
    if (!library) return refused(library.error());
    if (!model) return refused(model.error());
    const auto file = ScratchModel::write(*model, request.folder / "timing.onnx");
    if (!file) return refused(file.error());
    RuntimeOptions runtime = options_.runtime;
    runtime.custom_op_libraries.push_back(fs::absolute(*library).string());
    const NamedTensors feeds{
        {"seconds", Tensor::of(ElementType::Float, {1}, std::vector<float>{static_cast<float>(seconds)})}};
    const auto outputs = judge_.run(file->source(), feeds, runtime);
    std::error_code failure;
    fs::remove_all(request.folder, failure);
    if (!outputs) return outputs.error();
    const auto times = outputs->find("times");
    if (times == outputs->end() || times->second.type() != ElementType::Double ||
        times->second.extents() != extents)
      return Failure{FailureKind::Garbled, "no times"};
    const auto ns = times->second.as<double>();
    std::vector<std::vector<double>> out(plans.size());
    for (std::size_t k = 0; k < plans.size(); ++k)
      for (std::size_t r = 0; r < static_cast<std::size_t>(lower::kTimedRounds); ++r) {
        const auto at = [&](std::size_t plan) {
          return ns[plan * static_cast<std::size_t>(lower::kTimedRounds) + r];
        };
        bool is_whole = true;  // a round that all have
        for (std::size_t other = 0; other < plans.size(); ++other) is_whole = is_whole && at(other) > 0;
        if (is_whole) out[k].push_back(at(k));
      }
    return out;
  }

  // The best few of each kind, on fresh samples: the fastest of many is partly luck.
  Outcome<Done> prove() {
    std::vector<Kind*> all;
    for (const auto& kind : kinds_)
      if (kind->best() < kWorthTrying) all.push_back(kind.get());
    std::ranges::sort(all, std::greater{},
                      [](const Kind* k) { return static_cast<double>(k->places) * k->ns * (1 - k->best()); });
    constexpr std::size_t kAtOnce = 3, kBest = 3;
    for (std::size_t first = 0; first < all.size() && spent() < options_.seconds; first += kAtOnce) {
      say(fmt::format("tuning: measuring the best again, {} of {}", first + 1, all.size()));
      std::vector<Program> programs;
      for (std::size_t k = first; k < std::min(all.size(), first + kAtOnce); ++k) {
        Kind& kind = *all[k];
        programs.push_back({.kind = &kind, .plan = kind.choices.chosen()});
        std::vector<std::pair<double, std::string>> best;
        for (const auto& [lines, ratio] : kind.ratios)
          if (ratio < kWorthTrying) best.emplace_back(ratio, lines);
        std::ranges::sort(best);
        if (best.size() > kBest) best.resize(kBest);
        for (const auto& [ratio, lines] : best)
          if (auto plan = lower::scheduled(kind.unit, lines, exactness_)) {
            Program p{.kind = &kind, .lines = lines, .plan = std::move(*plan)};
            if (const auto choice = kind.choices.choice_of(lines)) p.choice = *choice;
            else continue;
            programs.push_back(std::move(p));
          }
      }
      ISOMER_TRY_DO(time(programs, kSecondsOfProof));
      for (const Program& p : programs) {
        if (!p.ratio) continue;
        p.kind->proved = std::min(p.kind->proved.value_or(HUGE_VAL), *p.ratio);
        if (*p.ratio > kWorth || *p.ratio > *p.kind->proved) continue;
        found_.lines[p.kind->unit.key] = p.lines;
      }
    }
    for (const Kind* kind : all)
      if (const auto lines = found_.lines.find(kind->unit.key); lines != found_.lines.end())
        found_.taken.push_back({.key = kind->unit.key,
                                .lines = lines->second,
                                .ns = kind->ns,
                                .ratio = *kind->proved,
                                .places = kind->places});
    is_proved_ = true;
    if (!trees_.text().empty() && options_.search == TuneSearch::Learned) records_.keep_model(trees_.text());
    return Done{};
  }

  double expected() const {
    double before = 0, after = 0;
    for (const auto& kind : kinds_) {
      const double ns = static_cast<double>(kind->places) * kind->ns;
      before += ns;
      const bool is_taken = found_.lines.contains(kind->unit.key);
      after += ns * (is_proved_ ? (is_taken ? *kind->proved : 1) : kind->best());
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
  std::vector<std::vector<double>> features_;
  std::vector<double> logs_;
  BoostedTrees trees_;
  bool is_stale_ = true, is_proved_ = false;
  int failures_ = 0;
  std::size_t programs_ = 0;
  TuneResult found_;
};

}  // namespace

std::vector<std::string> tune_searches() { return {"learned", "evolution", "random"}; }

std::optional<TuneSearch> tune_search(const std::string& word) {
  const std::vector<std::string> all = tune_searches();
  const auto at = std::ranges::find(all, word);
  if (at == all.end()) return std::nullopt;
  return static_cast<TuneSearch>(at - all.begin());
}

Outcome<TuneResult> tune(Judge& judge, const std::vector<lower::Unit>& units, const TuneOptions& options) {
  return Tuner(judge, units, options).run();
}

}  // namespace isomer
