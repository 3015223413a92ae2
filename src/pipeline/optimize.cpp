#include "pipeline/optimize.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "certify/digest.h"
#include "onnx/write_file.h"
#include "pipeline/steps.h"
#include "pipeline/trials.h"
#include "propose/list.h"

namespace isomer {
namespace {

constexpr double kLeastGain = 1.02;
constexpr std::uintmax_t kFreeGrowth = 16u << 20u;
constexpr int kMostRounds = 8;
constexpr double kShareOfSearch = 0.6;   // of the time; the rest is the guard's
constexpr double kShareOfRegions = 0.3;  // of what is left of it, for regions by themselves
constexpr double kRegionSeconds = 1;
constexpr double kWorstOfGood = 0.985;  // what was faster alone may be measured so together: that is noise
constexpr double kShareOfModel = 0.15, kShareOfGuard = 0.4, kLeastModelSeconds = 3, kMostModelSeconds = 20,
                 kLeastGuardSeconds = 12, kMostGuardSeconds = 40;

class Clockwork {
 public:
  explicit Clockwork(const OptimizeRequest& request) : request_(request) {}
  // Why to stop now, or "".
  std::string stopped(std::int64_t steps) const {
    if (request_.stop != nullptr && *request_.stop) return "interrupt";
    if (steps >= request_.steps || spent() > request_.seconds * (request_.measure ? kShareOfSearch : 1))
      return "budget";
    return "";
  }
  double spent() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  const OptimizeRequest& request_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::uintmax_t bytes_of(const std::filesystem::path& path) {
  std::error_code error;
  const auto model = std::filesystem::file_size(path, error);
  return error ? 0 : model;
}

Model with_graph(Model model, const Graph& graph) {
  model.graph = graph;
  return model;
}

OnProgress told_as(const OptimizeRequest& request, const std::string& what) {
  return [&request, what](const MeasureProgress& now) {
    request.progress(fmt::format("measuring {}, {:.0f} %{}", what, 100 * now.share,
                                 now.ratio ? fmt::format(", {:.3f}", now.ratio->estimate) : ""));
  };
}

// Proposes, proves, chooses until nothing new pays.
class Search {
 public:
  Search(const OptimizeRequest& request, const Clockwork& clock, const Model& model, Trials* trials,
         OptimizeReport& report)
      : request_(request), clock_(clock), model_(model), trials_(trials), report_(report) {}

  // What was reached, step by step; the last is the best.
  Result<std::vector<Draft>> run() {
    std::vector<Draft> history{{.graph = model_.graph, .steps = {}, .notes = {}}};
    ISOMER_TRY(Draft first, simplified(history.back()));
    if (!first.steps.empty()) history.push_back(std::move(first));
    for (;;) {
      ISOMER_TRY(Workpiece piece, Workpiece::of(history.back().graph));
      std::set<std::string> without = request_.without;
      without.insert("simplify");  // done
      Proposals found = propose_all(piece.graph(), piece.inference(),
                                    {.any_price = request_.any_price, .without = without});
      report_.declined = std::move(found.declined);
      // Without a runtime to ask, the analytic cost has the last word.
      if (!request_.measure && !request_.any_price)
        std::erase_if(found.list, [](const Proposal& p) { return p.gain <= 0; });
      StepMaker maker(std::move(piece), proofs_, request_.seed);
      std::vector<StepGroup> groups = grouped(proved(maker, found.list));
      if (groups.empty()) break;
      Draft next = trials_ ? settled(history.back(), maker, rank(maker, groups))
                           : maker.with(history.back(), all_steps(pointers_to(groups)));
      note_trouble(maker);
      if (next.steps.size() == history.back().steps.size()) break;
      ISOMER_TRY(next, simplified(next));
      history.push_back(std::move(next));
    }
    report_.stopped_by = stopped_.empty() ? "done" : stopped_;
    return history;
  }

 private:
  bool is_over() {
    if (stopped_.empty()) stopped_ = clock_.stopped(tried_);
    return !stopped_.empty();
  }

  // Those that can be proved, while there is time.
  std::vector<Step> proved(const StepMaker& maker, const std::vector<Proposal>& proposals) {
    std::vector<Step> out;
    for (const Proposal& p : proposals) {
      std::string key = p.kind + " " + p.what;
      for (const auto* names : {&p.claim.outputs, &p.claim.inputs, &p.folds})
        for (const std::string& name : *names) key += " " + name;
      if (seen_.contains(key)) continue;
      if (is_over()) break;
      seen_.insert(key);
      ++tried_;
      request_.progress(fmt::format("proving: {}", p.what));
      auto step = maker.prove(p);
      if (auto* why = std::get_if<std::string>(&step)) report_.refused.push_back(p.what + ": " + *why);
      else out.push_back(std::get<Step>(std::move(step)));
    }
    return out;
  }

  void note_trouble(const StepMaker& maker) {
    report_.refused.insert(report_.refused.end(), maker.trouble().begin(), maker.trouble().end());
  }

  // Nothing of this is for sale: it costs nothing and lets the proposers see more.
  Result<Draft> simplified(Draft draft) {
    if (request_.without.contains("simplify")) return draft;
    for (int round = 0; round < kMostRounds; ++round) {
      ISOMER_TRY(Workpiece piece, Workpiece::of(draft.graph));
      const Proposals found = propose_simplify(piece.graph(), piece.inference());
      StepMaker maker(std::move(piece), proofs_, request_.seed);
      const std::vector<Step> steps = proved(maker, found.list);
      if (steps.empty()) break;
      draft = maker.with(draft, pointers_to(steps));
      note_trouble(maker);
    }
    return draft;
  }

  // Groups by what their regions said, alone in their context.
  struct Ranked {
    std::vector<const StepGroup*> faster;   // the most time saved first
    std::vector<const StepGroup*> unknown;  // there was no time to ask
  };

  Ranked rank(const StepMaker& maker, std::vector<StepGroup>& groups) {
    std::vector<const Step*> samples;
    for (const StepGroup& g : groups) samples.push_back(&g.steps[0]);
    request_.progress("observing what flows through the model");
    const bool is_observed = trials_->observe(model_, maker.piece(), samples).ok();
    const double until = clock_.spent() + (request_.seconds - clock_.spent()) * kShareOfRegions;
    Ranked out;
    std::vector<std::pair<double, const StepGroup*>> faster;
    std::map<std::string, std::pair<int, int>>
        kin;  // of those that do the same at other sizes: faster, slower
    one_of_each_first(groups);
    for (StepGroup& g : groups) {
      if (!is_observed) {
        out.unknown.push_back(&g);
        continue;
      }
      const double seconds = clock_.spent() < until ? kRegionSeconds : 0;
      request_.progress(fmt::format("measuring {} regions, {}", g.steps.size(), g.what));
      const auto trial = trials_->region(maker.piece(), g.steps[0], proofs_, seconds);
      if (!trial.ok()) {
        report_.refused.push_back(g.what + ": " + trial.error().what);
        continue;
      }
      if (trial->errors && !trial->errors->within(request_.max_error_growth)) {
        report_.refused.push_back(fmt::format("{}: its error would be {:.1e} instead of {:.1e}", g.what,
                                              trial->errors->after, trial->errors->before));
        continue;
      }
      if (!trial->time) {
        out.unknown.push_back(&g);
        continue;
      }
      const PairMeasurement& time = *trial->time;
      for (Step& s : g.steps) s.ratio = time.ratio.estimate;
      report_.regions.push_back({g.what, static_cast<int>(g.steps.size()), time.ratio});
      const double saved = time.by_cpu_time ? time.a_cpu_ns.estimate - time.b_cpu_ns.estimate
                                            : time.a_wall_ns.estimate - time.b_wall_ns.estimate;
      const bool is_faster = time.ratio.estimate > 1;
      if (is_faster) faster.emplace_back(saved * static_cast<double>(g.steps.size()), &g);
      ++(is_faster ? kin[g.what].first : kin[g.what].second);
    }
    // Where there was no time to ask, the others of its kind speak for it.
    std::erase_if(out.unknown, [&](const StepGroup* g) {
      const auto [better, worse] = kin[g->what];
      if (better > 0 && worse == 0) faster.emplace_back(0, g);
      return better + worse > 0 && (better == 0 || worse == 0);
    });
    std::ranges::stable_sort(faster, std::greater<>{}, [](const auto& f) { return f.first; });
    for (const auto& [saved, group] : faster) out.faster.push_back(group);
    return out;
  }

  // The first of each kind before the others: they speak for them.
  static void one_of_each_first(std::vector<StepGroup>& groups) {
    std::set<std::string> seen;
    std::vector<StepGroup> first, rest;
    for (StepGroup& g : groups) (seen.insert(g.what).second ? first : rest).push_back(std::move(g));
    std::ranges::move(rest, std::back_inserter(first));
    groups = std::move(first);
  }

  // All together if the whole model does not get slower by it; else each half by itself. Of what nobody
  // measured alone, the whole model must get faster.
  Draft settled(const Draft& best, StepMaker& maker, const Ranked& ranked) {
    struct Batch {
      std::vector<const StepGroup*> groups;
      bool is_promising = false;
    };
    std::vector<const StepGroup*> taken;
    Draft now = best;
    std::unique_ptr<ScratchModel> written;  // `now`, once someone asks
    std::vector<Batch> open{{ranked.unknown, false}, {ranked.faster, true}};
    while (!open.empty()) {
      const Batch batch = std::move(open.back());
      open.pop_back();
      if (batch.groups.empty()) continue;
      std::vector<const StepGroup*> all = taken;
      all.insert(all.end(), batch.groups.begin(), batch.groups.end());
      Draft candidate = maker.with(best, all_steps(all));
      if (candidate.notes.size() <= now.notes.size()) continue;
      // With no time left the guard will say; what is known to be good alone is worth that.
      std::unique_ptr<ScratchModel> next;
      bool is_good = batch.is_promising && taken.empty();
      if (!is_over()) {
        if (!written) written = scratch(now);
        next = scratch(candidate);
        is_good = written && next && is_better(*written, *next, batch.is_promising);
      }
      if (is_good) {
        now = std::move(candidate);
        written = std::move(next);
        taken = std::move(all);
      } else if (batch.groups.size() > 1) {
        const auto middle = batch.groups.begin() + static_cast<std::ptrdiff_t>(batch.groups.size() / 2);
        open.push_back({{middle, batch.groups.end()}, batch.is_promising});
        open.push_back({{batch.groups.begin(), middle}, batch.is_promising});
      }
    }
    return now;
  }

  bool is_better(const ScratchModel& a, const ScratchModel& b, bool is_promising) {
    const double seconds =
        std::clamp(request_.seconds * kShareOfModel, kLeastModelSeconds, kMostModelSeconds);
    const auto measured =
        trials_->compare(a.source(), b.source(), seconds, std::nullopt, told_as(request_, "the whole model"));
    if (!measured.ok()) {
      report_.refused.push_back(measured.error().what);
      return false;
    }
    return is_promising ? measured->ratio.estimate > kWorstOfGood : measured->verdict == PairVerdict::Faster;
  }

  std::unique_ptr<ScratchModel> scratch(const Draft& draft) const {
    auto file = ScratchModel::write(with_graph(model_, draft.graph), request_.out);
    return file.ok() ? std::make_unique<ScratchModel>(std::move(*file)) : nullptr;
  }

  const OptimizeRequest& request_;
  const Clockwork& clock_;
  const Model& model_;
  Trials* trials_;
  OptimizeReport& report_;
  std::set<std::string> seen_;
  ProofCache proofs_;
  std::string stopped_;
  std::int64_t tried_ = 0;
};

// Why the new model is not taken, or "".
class Guard {
 public:
  Guard(const OptimizeRequest& request, const Clockwork& clock, const Model& model, Trials* trials,
        OptimizeReport& report)
      : request_(request), clock_(clock), model_(model), trials_(trials), report_(report) {}

  Result<std::string> objection(const Draft& draft) {
    ISOMER_TRY(const ScratchModel candidate,
               ScratchModel::write(with_graph(model_, draft.graph), request_.out));
    report_.bytes_out = bytes_of(candidate.path());
    const auto allowed = std::max(
        static_cast<std::uintmax_t>(static_cast<double>(report_.bytes_in) * request_.max_size_growth),
        report_.bytes_in + kFreeGrowth);
    if (report_.bytes_out > allowed)
      return fmt::format("it would grow from {} to {} bytes", report_.bytes_in, report_.bytes_out);
    if (trials_ == nullptr) return std::string();
    const auto before = ModelSource::file(request_.in.string()), after = candidate.source();
    if (const auto loads = trials_->judge().check_loads(after, request_.runtime); !loads.ok())
      return "the runtime does not load the result: " + loads.error().what;
    request_.progress("comparing with float64");
    const auto errors = trials_->errors(model_.graph, before, after, request_.feeds,
                                        1e9 * std::clamp(request_.seconds / 10, 3.0, 30.0));
    if (!errors.ok()) return "the runtime does not run it: " + errors.error().what;
    if (*errors) {
      report_.error_before = (*errors)->before;
      report_.error_after = (*errors)->after;
      if (!(*errors)->within(request_.max_error_growth)) {
        is_wrong = true;
        return fmt::format("its error would be {:.1e} instead of {:.1e}", (*errors)->after,
                           (*errors)->before);
      }
    }
    const double left = std::max(request_.seconds - clock_.spent(), request_.seconds * kShareOfGuard);
    const double seconds = std::clamp(left, kLeastGuardSeconds, kMostGuardSeconds);
    const auto measured =
        trials_->compare(before, after, seconds, kLeastGain, told_as(request_, "the result"));
    if (!measured.ok()) return "it could not be measured: " + measured.error().what;
    report_.ratio = measured->ratio;
    if (measured->ratio.low <= kLeastGain)
      return fmt::format("it is not faster: {:.3f} [{:.3f}, {:.3f}]", measured->ratio.estimate,
                         measured->ratio.low, measured->ratio.high);
    return std::string();
  }
  bool is_wrong = false;  // it was the error

 private:
  const OptimizeRequest& request_;
  const Clockwork& clock_;
  const Model& model_;
  Trials* trials_;
  OptimizeReport& report_;
};

bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code error;
  return a.lexically_normal() == b.lexically_normal() || std::filesystem::equivalent(a, b, error);
}

// The runtime, if it is to judge.
Result<std::unique_ptr<Trials>> started(const OptimizeRequest& request) {
  if (!request.measure) return std::unique_ptr<Trials>();
  request.progress("starting the runtime");
  auto judge = Judge::start(request.worker);
  if (!judge.ok()) return to_error(judge.error());
  return std::make_unique<Trials>(
      std::move(*judge),
      Trials::Options{
          .runtime = request.runtime, .feeds = request.feeds, .out = request.out, .seed = request.seed});
}

// Why there is no use in going on, or "".
std::string refusal(Trials& trials, const OptimizeRequest& request) {
  const auto runs =
      trials.judge().run(ModelSource::file(request.in.string()), request.feeds, request.runtime);
  return runs.ok() ? "" : "the runtime does not run the original: " + runs.error().what;
}

void tell(OptimizeReport& report, const Draft& best) {
  std::map<std::string, int> counts;
  for (const Note& n : best.notes) {
    report.told.push_back(n.what);
    ++counts[n.kind];
  }
  for (const auto& [what, taken] : best.taken) report.groups.push_back({what, taken.places, taken.ratio});
  std::ranges::stable_sort(report.groups, std::greater<>{}, &OptimizeReport::Group::places);
  for (const auto& [kind, count] : counts)
    report.steps.push_back({.kind = kind, .count = count, .nodes = best.fewer.at(kind)});
}

}  // namespace

Result<OptimizeReport> optimize(const OptimizeRequest& request, const Model& model) {
  OptimizeReport report;
  const Clockwork clock(request);
  if (is_same_file(request.in, request.out)) return Error{"the output is the input's own file"};
  if (is_same_file(request.in, request.certificate) || is_same_file(request.out, request.certificate))
    return Error{"the certificate needs a file of its own"};
  wire::remove_stale_outputs(request.out.parent_path());
  report.bytes_in = bytes_of(request.in);

  ISOMER_TRY(std::unique_ptr<Trials> trials, started(request));
  if (trials) report.reason = refusal(*trials, request);
  Draft best{.graph = model.graph, .steps = {}, .notes = {}};
  if (report.reason.empty()) {
    Search search(request, clock, model, trials.get(), report);
    ISOMER_TRY(std::vector<Draft> history, search.run());
    if (history.size() == 1)
      report.reason = report.refused.empty() ? "nothing to improve was found" : "no proposal was proved";
    // From the best backwards, past what makes the error grow.
    while (history.size() > 1) {
      Guard guard(request, clock, model, trials.get(), report);
      ISOMER_TRY(report.reason, guard.objection(history.back()));
      if (report.reason.empty()) best = history.back();
      if (!guard.is_wrong) break;
      history.pop_back();
    }
    report.improved = history.size() > 1 && report.reason.empty();
  }
  Certificate certificate{.steps = best.steps, .notes = best.notes};
  tell(report, best);
  if (report.ratio && report.improved)
    certificate.notes.push_back({"measured", "the whole model", report.ratio->estimate});
  report.certificate = request.certificate;
  certificate = with_digests(std::move(certificate), model.graph, best.graph);
  // The certificate is on the disk before OUT is, so that a full one leaves neither.
  ISOMER_TRY(wire::OutputFile proof, wire::written_output(request.certificate, to_text(certificate)));
  ISOMER_TRY_DO(report.improved ? write_model(with_graph(model, best.graph), request.out)
                                : copy_model(model, request.in, request.out));
  ISOMER_TRY_DO(proof.rename());
  report.bytes_out = bytes_of(request.out);
  return report;
}

}  // namespace isomer
