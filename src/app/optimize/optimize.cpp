#include "app/optimize/optimize.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/optimize/attempt.h"
#include "io/onnx/write_file.h"
#include "kernel/certify/certificate.h"
#include "kernel/certify/digest.h"
#include "optimizer/search/plans/plan_search.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

// Writing and syncing the result: what a plain disk does in a second, and no more of the time than this.
constexpr double kBytesWrittenPerSecond = 2e8, kMostShareOfWriting = 0.3;
// The time after its limit in which an attempt may end by itself, before it is abandoned: a share of the
// budget plus a constant; after Ctrl-C, a part of the promised three seconds.
constexpr double kLateShare = 0.05, kLateSeconds = 0.7, kInterruptedSeconds = 1.2;
constexpr double kGlanceSeconds = 0.02;

// The result within the time: when the attempt ends, or when it is abandoned.
Reached reached_in_time(const OptimizeRequest& request, const Model& model, double end, bool& is_abandoned) {
  TimeLimit& limit = *request.search.limit;
  const auto attempt = Attempt::start(request, model, end);
  const double latest = end + kLateShare * request.seconds + kLateSeconds;
  std::optional<double> interrupted;
  while (!attempt->has_ended(kGlanceSeconds)) {
    limit.refresh();
    if (limit.is_interrupted() && !interrupted) interrupted = limit.spent();
    const bool is_late =
        limit.spent() > latest || (interrupted && limit.spent() > *interrupted + kInterruptedSeconds);
    is_abandoned = is_late && !request.waits;
    if (is_abandoned) break;
  }
  return attempt->take();
}

void tell(OptimizeReport& report, const Draft& best) {
  report.flushed = best.flushed;
  std::map<std::string, OptimizeReport::Kind> kinds;
  std::map<std::pair<std::string, std::string>, OptimizeReport::Group> groups;  // by label and words
  for (const Draft::Taken& t : best.taken) {
    const std::string words = describe(t.change);
    report.changes.push_back(t.what);
    report.changes_in_words.push_back(describe_at(words, t.change.where));
    OptimizeReport::Kind& kind = kinds[t.change.kind];
    kind = {t.change.kind, kind.count + 1, kind.nodes + t.fewer};
    OptimizeReport::Group& group = groups[{t.label, words}];
    if (group.places == 0) group = {.change = t.change, .label = t.label};
    ++group.places;
    group.fewer += t.fewer;
    group.ratio = std::max(group.ratio, t.ratio);
  }
  for (const auto& [name, kind] : kinds) report.steps.push_back(kind);
  for (const auto& [key, group] : groups) report.groups.push_back(group);
  std::ranges::stable_sort(report.groups, std::greater<>{}, &OptimizeReport::Group::places);
}

void tell(OptimizeReport& report, const Look& look, const Reached& reached,
          const std::vector<std::string>& sizes) {
  if (look.errors) {
    report.error_before = look.errors->before;
    report.error_after = look.errors->after;
  }
  if (!look.time) return;
  report.ratio = look.time->ratio;
  if (!sizes.empty()) report.sizes.push_back({sizes[0], look.time->ratio});
  for (std::size_t k = 0; k < look.more.size(); ++k)
    report.sizes.push_back({sizes[k + 1], look.more[k].ratio});
  report.before = RunCost{look.time->a_wall_ns, reached.peak_before};
  report.after = RunCost{look.time->b_wall_ns, reached.peak_after};
}

// Whether there was no time to come to an answer.
bool has_run_out(const Reached& reached) {
  return !reached.best && (reached.reason.empty() || reached.is_out_of_time ||
                           (reached.last && reached.last->kind == Look::Kind::NoTime));
}

// Why nothing changed, where the time or a user ended it.
std::string why_unchanged(const Reached& reached, StoppedBy stopped_by) {
  if (stopped_by == StoppedBy::Interrupt) return "Ctrl-C came before a gain was measured";
  if (reached.search.is_out_of_steps) return reached.reason + "; --steps ran out";
  const bool has_none = reached.reason.empty() || (stopped_by == StoppedBy::Budget && !reached.last);
  const std::string why =
      has_none ? "time ran out before a faster candidate was found and measured" : reached.reason;
  if (stopped_by != StoppedBy::Budget) return why;
  if (has_none || reached.is_out_of_time) return why + "; try a longer --budget";
  // Then it says so itself.
  const bool could_be_decided = reached.last && reached.last->could_be_decided;
  return could_be_decided ? why : why + "; time ran out, a longer --budget may find more";
}

// The steps of the draft as a certificate.
Certificate certificate_of(const Draft& draft, const OptimizeReport& report, const Graph& in) {
  Certificate out{.steps = draft.steps, .notes = {}};
  for (const Draft::Taken& t : draft.taken)
    out.notes.push_back({t.change.kind, describe(t.change), t.change.where, t.ratio});
  if (report.ratio && report.sizes.empty() && report.result == OptimizeReport::Result::Improved)
    out.notes.push_back({"measured", "the whole model", "", report.ratio->estimate});
  if (report.result == OptimizeReport::Result::Improved)
    for (const OptimizeReport::AtSize& at : report.sizes)
      out.notes.push_back({"measured", "the whole model at " + at.size, "", at.ratio.estimate});
  return with_digests(std::move(out), in, draft.graph);
}

std::uintmax_t bytes_on_disk(const OptimizeRequest& request, const Model& model) {
  std::error_code no_size;
  return fs::file_size(request.in, no_size) + external_bytes(model);
}

}  // namespace

Optimized unsearched(const OptimizeRequest& request, const Model& model) {
  OptimizeReport report;
  report.bytes_in = report.bytes_out = bytes_on_disk(request, model);
  report.nodes_in = report.nodes_out = model.graph.operator_count();
  report.sizes_from = model.graph.sizes_from;
  std::string certificate = to_text(certificate_of({.graph = model.graph}, report, model.graph));
  const std::uintmax_t most_bytes = allowed_bytes(request, report.bytes_in);
  return {model, std::move(certificate), std::move(report), most_bytes};
}

Result<Optimized> optimize(OptimizeRequest request, const Model& model) {
  if (!request.search.limit) request.search.limit = std::make_shared<TimeLimit>(request.seconds);
  const TimeLimit& limit = *request.search.limit;
  wire::remove_stale_outputs(request.scratch.parent_path());
  OptimizeReport report;
  report.bytes_in = bytes_on_disk(request, model);
  request.search.out = request.scratch;
  const std::uintmax_t most_bytes = allowed_bytes(request, report.bytes_in);
  request.search.more_bytes = most_bytes - std::min(report.bytes_in, most_bytes);
  const double writing = std::min(static_cast<double>(report.bytes_in) / kBytesWrittenPerSecond,
                                  kMostShareOfWriting * request.seconds);

  Reached reached = reached_in_time(request, model, request.seconds - writing, report.is_abandoned);
  if (reached.error) return *reached.error;
  report.search = std::move(reached.search);
  if (!reached.runtime.empty())
    request.search.plans.target = target_text(reached.runtime, reached.runtime_version, request.runtime);
  if (limit.is_interrupted()) report.search.stopped_by = StoppedBy::Interrupt;
  else if (report.is_abandoned || has_run_out(reached)) report.search.stopped_by = StoppedBy::Budget;
  report.advice = std::move(reached.advice);
  report.sizes_from = model.graph.sizes_from;
  report.at_zero = std::move(reached.at_zero);
  report.runtime = reached.runtime;
  report.runtime_version = reached.runtime_version;
  Draft best{.graph = model.graph};
  if (reached.best) {
    best = reached.best->draft;
    report.result =
        reached.best->is_simplified ? OptimizeReport::Result::Simplified : OptimizeReport::Result::Improved;
    tell(report, reached.best->look, reached, request.sizes);
  } else if (reached.last) {
    tell(report, *reached.last, reached, request.sizes);
  }
  if (report.result != OptimizeReport::Result::Improved)
    report.reason = why_unchanged(reached, report.search.stopped_by);
  tell(report, best);
  if (request.search.plans.store) report.search.plans.kept = keep_plans(request.search, model, best);
  report.nodes_in = model.graph.operator_count();
  report.nodes_out = best.graph.operator_count();
  report.bytes_out = reached.best ? reached.best->look.bytes : report.bytes_in;
  std::string certificate = to_text(certificate_of(best, report, model.graph));
  report.seconds = limit.spent();
  return Optimized{.model = reached.best ? with_graph(model, best.graph) : model,
                   .certificate = std::move(certificate),
                   .report = std::move(report),
                   .most_bytes = most_bytes};
}

}  // namespace isomer
