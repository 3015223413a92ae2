#include "optimizer/search/assembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace isomer {
namespace {

constexpr double kShareOfRegions = 0.5;  // of the time that is left, for regions by themselves
constexpr double kRegionSeconds = 1;
constexpr double kRegionOperations = 1e9;  // in float64, to know a region's error
// The same if the error decides, for each remaining second: a quarter of the interpreter's speed (2.4e10, a
// dense convolution of 256 channels at 56x56).
constexpr double kOperationsPerSecond = 6e9;
// Steps that were each faster alone may measure this much together: less than 1 by noise only.
constexpr double kWorstOfGood = 0.985;
// The share of the remaining time for the whole model; if that is below the least, the guard gets it.
constexpr double kShareOfModel = 0.25, kLeastModelSeconds = 2, kMostModelSeconds = 20;

// Measure one representative of each kind first; see where unmeasured groups inherit its verdict.
void one_of_each_first(std::vector<StepGroup>& groups) {
  std::set<std::string> seen;
  std::vector<StepGroup> first, rest;
  for (StepGroup& g : groups) (seen.insert(g.what).second ? first : rest).push_back(std::move(g));
  std::ranges::move(rest, std::back_inserter(first));
  groups = std::move(first);
}

}  // namespace

void Assembly::measure(const StepMaker& maker, std::vector<StepGroup>& groups) {
  std::vector<const Step*> samples;
  samples.reserve(groups.size());
  for (const StepGroup& g : groups) samples.push_back(&g.steps[0]);
  context_.options.progress("observing the values of the model");
  const bool is_observed = context_.trials->observe(context_.model, maker.piece(), samples).ok();
  const double least_left = context_.options.seconds_left() * (1 - kShareOfRegions);
  one_of_each_first(groups);
  for (StepGroup& g : groups) {
    if (!is_observed || context_.is_over()) {
      unknown_.push_back(&g);
      continue;
    }
    const double left = context_.options.seconds_left();
    const double seconds = left > least_left ? kRegionSeconds : 0;
    context_.options.progress(fmt::format("measuring: {} × {}", g.steps.size(), describe(g.steps[0].change)));
    const bool is_risky = g.steps[0].proposal.rounds_otherwise;
    const auto trial =
        context_.trials->region(maker.piece(), g.steps[0], context_.proofs, seconds,
                                std::max(kRegionOperations, is_risky ? left * kOperationsPerSecond : 0));
    if (!trial.ok() && trial.error().kind == FailureKind::Stopped) {
      unknown_.push_back(&g);
      continue;
    }
    if (!trial.ok()) {
      context_.report.refused.push_back(describe(g.steps[0].change) + ": " + trial.error().what);
      continue;
    }
    if (trial->errors && !trial->errors->within(context_.options.max_error_growth)) {
      context_.report.refused.push_back(fmt::format("{}: its error would be {:.1e} instead of {:.1e}",
                                                    describe(g.steps[0].change), trial->errors->after,
                                                    trial->errors->before));
      continue;
    }
    if (is_risky && !trial->errors) {
      context_.report.refused.push_back(describe(g.steps[0].change) +
                                        ": there was no time to measure its error");
      continue;
    }
    if (!trial->time) {
      unknown_.push_back(&g);
      continue;
    }
    const PairMeasurement& time = *trial->time;
    for (Step& s : g.steps) s.ratio = time.ratio.estimate;
    context_.report.regions.push_back(
        {g.steps[0].change, g.steps[0].proposal.what, static_cast<int>(g.steps.size()), time.ratio});
    const double saved = time.by_cpu_time ? time.a_cpu_ns.estimate - time.b_cpu_ns.estimate
                                          : time.a_wall_ns.estimate - time.b_wall_ns.estimate;
    const bool is_faster = time.ratio.estimate > 1;
    if (is_faster) faster_.emplace_back(saved * static_cast<double>(g.steps.size()), &g);
    ++(is_faster ? kin_[g.what].first : kin_[g.what].second);
  }
}

Assembly::Ranked Assembly::ranked() const {
  Ranked out{.faster = {}, .unknown = unknown_};
  std::vector<std::pair<double, const StepGroup*>> faster = faster_;
  const bool is_all_unknown = kin_.empty();
  // Unmeasured groups inherit the verdict of their kind, if all of it had the same.
  std::erase_if(out.unknown, [&](const StepGroup* g) {
    const auto at = kin_.find(g->what);
    const auto [better, worse] = at == kin_.end() ? std::pair(0, 0) : at->second;
    if (better > 0 && worse == 0) faster.emplace_back(0, g);
    return better + worse > 0 && (better == 0 || worse == 0);
  });
  // If there was no time to measure any, the analytic cost decides; the guard rejects a slower result.
  if (context_.is_over() && is_all_unknown)
    std::erase_if(out.unknown, [&](const StepGroup* g) {
      const bool is_liked = g->gain > 0 && !g->steps[0].proposal.rounds_otherwise;
      if (is_liked) faster.emplace_back(g->gain, g);
      return is_liked;
    });
  std::ranges::stable_sort(faster, std::greater<>{}, [](const auto& f) { return f.first; });
  for (const auto& [saved, group] : faster) out.faster.push_back(group);
  return out;
}

// All together if the whole model does not get slower by it; else each half by itself. With groups
// that were not measured alone, the whole model must get faster. If the result is too large, a part of it.
Draft Assembly::assemble(const Draft& best, StepMaker& maker, const Ranked& ranked) {
  struct Batch {
    std::vector<const StepGroup*> groups;
    bool is_promising = false;
  };
  std::vector<const StepGroup*> taken;
  Draft now = best;
  std::unique_ptr<ScratchModel> written;  // `now`, written at first use
  std::vector<Batch> open{{ranked.unknown, false}, {ranked.faster, true}};
  std::deque<StepGroup> parts;
  while (!open.empty()) {
    const Batch batch = std::move(open.back());
    open.pop_back();
    if (batch.groups.empty()) continue;
    // With no time left it is not measured here, but by the guard. That is worth trying for what was faster
    // alone, and for nothing else.
    const bool is_late = context_.is_over() || context_.options.seconds_left() < kLeastModelSeconds;
    if (is_late && (!batch.is_promising || !taken.empty())) break;
    std::vector<const StepGroup*> all = taken;
    all.insert(all.end(), batch.groups.begin(), batch.groups.end());
    Draft candidate = maker.with(best, all_steps(all));
    if (candidate.taken.size() <= now.taken.size()) continue;
    std::unique_ptr<ScratchModel> next;
    const bool fits = !is_too_large(candidate);
    bool is_good = fits && batch.is_promising && taken.empty();
    if (fits && !is_late) {
      if (!written) written = scratch(now);
      next = scratch(candidate);
      const auto answer =
          written && next ? is_better(*written, *next, batch.is_promising) : std::optional(false);
      is_good = answer.value_or(is_good);
    }
    if (is_good) {
      now = std::move(candidate);
      written = std::move(next);
      taken = std::move(all);
    } else if (batch.groups.size() > 1) {
      const auto middle = batch.groups.begin() + static_cast<std::ptrdiff_t>(batch.groups.size() / 2);
      open.push_back({{middle, batch.groups.end()}, batch.is_promising});
      open.push_back({{batch.groups.begin(), middle}, batch.is_promising});
    } else if (!fits && batch.groups[0]->steps.size() > 1) {
      const StepGroup& whole = *batch.groups[0];
      const auto middle = whole.steps.begin() + static_cast<std::ptrdiff_t>(whole.steps.size() / 2);
      for (const auto& [first, last] :
           {std::pair(middle, whole.steps.end()), {whole.steps.begin(), middle}}) {
        parts.push_back({whole.what, {first, last}, whole.gain});
        open.push_back({{&parts.back()}, batch.is_promising});
      }
    }
  }
  return now;
}

// Kernels of fewer multiplications are larger ones.
bool Assembly::is_too_large(const Draft& draft) const {
  const auto before = bytes_of_constants(context_.model.graph), after = bytes_of_constants(draft.graph);
  return after > before && after - before > context_.options.more_bytes;
}

std::optional<bool> Assembly::is_better(const ScratchModel& a, const ScratchModel& b, bool is_promising) {
  const double seconds =
      std::clamp(context_.options.seconds_left() * kShareOfModel, kLeastModelSeconds, kMostModelSeconds);
  const auto measured =
      context_.trials->rank(a, b, seconds, told_as(context_.options.progress, "the whole model"));
  if (!measured.ok() && measured.error().kind == FailureKind::Stopped) return std::nullopt;
  if (!measured.ok()) {
    context_.report.refused.push_back(measured.error().what);
    return false;
  }
  return is_promising ? measured->ratio.estimate > kWorstOfGood : measured->verdict == PairVerdict::Faster;
}

bool Assembly::is_faster(const Draft& before, const Draft& after) {
  if (after.taken.size() <= before.taken.size() || context_.is_over()) return false;
  const auto a = scratch(before), b = scratch(after);
  return a && b && is_better(*a, *b, false).value_or(false);
}

std::unique_ptr<ScratchModel> Assembly::scratch(const Draft& draft) const {
  auto file = ScratchModel::write(with_graph(context_.model, draft.graph), context_.options.out);
  return file.ok() ? std::make_unique<ScratchModel>(std::move(*file)) : nullptr;
}

}  // namespace isomer
