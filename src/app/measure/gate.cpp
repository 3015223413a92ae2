#include "app/measure/gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "runtime/judge/measure_apart.h"
#include "runtime/judge/measure_rounds.h"

namespace isomer {
namespace {

std::string ratio_text(const Interval& ratio) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", ratio.estimate, ratio.low, ratio.high);
}

OnProgress progress_of(const GateRequest& request) {
  return [&request](const MeasureProgress& now) {
    std::string line = fmt::format("{}, round {}, {:.0f} %", now.confirming ? "confirming" : "measuring",
                                   now.rounds, 100 * now.share);
    if (now.ratio) line += ", " + ratio_text(*now.ratio);
    request.progress(line);
  };
}

Outcome<PairMeasurement> measure(const GateRequest& request) {
  MeasureOptions options = request.measure;
  options.beyond = request.min_ratio;
  options.precision = 0;  // the question is the ratio, not whether there is a difference
  ISOMER_TRY(const SharedFeeds feeds, SharedFeeds::make(request.feeds));
  const ComparedModel &a = request.base, &b = request.candidate;
  const OnProgress progress = progress_of(request);
  ISOMER_TRY(Worker * worker_a, a.judge->worker());
  if (a.judge == b.judge)
    return measure_pair_against(*worker_a, a.source, b.source, feeds, options, request.min_ratio, progress);
  ISOMER_TRY(Worker * worker_b, b.judge->worker());
  return measure_sides({*worker_a, a.source, a.runtime}, {*worker_b, b.source, b.runtime}, feeds, options,
                       request.min_ratio, progress);
}

// Text about a model: our words, then those of a runtime or with names from a file, if any.
struct Words {
  std::string ours, theirs = {};
};

Words speed_words(const GateRun& run) {
  const GateSpeed& speed = run.speed;
  if (speed.failure) return {"the new model does not run: ", to_error(*speed.failure).message};
  const std::string ratio = ratio_text(speed.measured.ratio);
  switch (speed.answer) {
    case GateAnswer::Passes:
      return {fmt::format("{} times BASE's speed, at least {} is required", ratio, run.min_ratio)};
    case GateAnswer::Fails:
      return {fmt::format("slower: {} times BASE's speed, below {}", ratio, run.min_ratio)};
    case GateAnswer::Unsure: break;
  }
  return {
      fmt::format("not sure whether it is slower: {} times BASE's speed, {} is required; more --seconds or a "
                  "quieter machine could decide",
                  ratio, run.min_ratio)};
}

Words equality_words(const GateEquality& equality) {
  if (equality.answer == GateAnswer::Passes) {
    std::string out = "proved equal";
    if (equality.sizes_from > 0) out += " for all sizes of at least 1";
    if (const int count = equality.rounded_constants; count > 0)
      out += fmt::format(" but for rounding of {} constant{}", count, count == 1 ? "" : "s");
    if (equality.flushed > 0)
      out += fmt::format(", but for {} denormal numbers of constants, which are zero", equality.flushed);
    if (equality.by_position) out += ", with outputs of different names compared by position";
    return {equality.outputs_differ ? out + ", and both runtimes compute the same" : out};
  }
  return {equality.answer == GateAnswer::Fails ? "not equal: " : "not sure whether it is equal: ",
          equality.why};
}

// A stranger's text in Markdown. Names may hold HTML, links, or a mention of a person: inside of code all of
// it is text, which escapes of single characters would not achieve (a host mentions people after Markdown is
// gone). Only a backquote ends the code, a bar the cell of a table, and a line both.
std::string code(std::string_view text) {
  std::string shown = printable(text);
  std::ranges::replace(shown, '|', '/');
  std::ranges::replace(shown, '`', '\'');
  return shown.empty() ? "" : '`' + shown + '`';
}

std::string in_markdown(const Words& words) { return words.ours + code(words.theirs); }

std::string ms_text(const Interval& ns) {
  return fmt::format("{:.4g} ms [{:.4g}, {:.4g}]", ns.estimate * 1e-6, ns.low * 1e-6, ns.high * 1e-6);
}

}  // namespace

std::string_view text(GateAnswer answer) {
  switch (answer) {
    case GateAnswer::Passes: return "passes";
    case GateAnswer::Fails: return "fails";
    case GateAnswer::Unsure: return "unsure";
  }
  ISOMER_UNREACHABLE("an answer of the gate");
}

Outcome<GateSpeed> judge_speed(const GateRequest& request) {
  auto measured = measure(request);
  if (!measured) {
    const Failure& failure = measured.error();
    if (failure.model == 1 && failure.kind != FailureKind::Unavailable)
      return GateSpeed{GateAnswer::Fails, failure, {}};
    return failure;
  }
  GateSpeed speed{GateAnswer::Unsure, {}, std::move(*measured)};
  if (speed.measured.ratio.is_below(request.min_ratio)) speed.answer = GateAnswer::Fails;
  else if (speed.measured.ratio.is_above(request.min_ratio)) speed.answer = GateAnswer::Passes;
  return speed;
}

GateAnswer GateRun::answer() const {
  const GateAnswer other = equality ? equality->answer : GateAnswer::Passes;
  for (const GateAnswer worst : {GateAnswer::Fails, GateAnswer::Unsure})
    if (speed.answer == worst || other == worst) return worst;
  return GateAnswer::Passes;
}

std::string line_of(const GateRun& run) {
  const Words speed = speed_words(run);
  std::string line = fmt::format("{}: {}{}", text(run.answer()), speed.ours, speed.theirs);
  if (run.equality) {
    const Words equality = equality_words(*run.equality);
    line += "; " + equality.ours + equality.theirs;
  }
  std::ranges::replace(line, '\n', ' ');
  return line;
}

std::string markdown_of(const GateRun& run) {
  const auto mark = [](GateAnswer answer) {
    return answer == GateAnswer::Passes ? "✅" : answer == GateAnswer::Fails ? "❌" : "❔";
  };
  std::string out = fmt::format("### {} {} {}\n\n| | base | new |\n|---|---|---|\n", mark(run.answer()),
                                code(run.candidate), text(run.answer()));
  out += fmt::format("| model | {} | {} |\n", code(run.base), code(run.candidate));
  out += fmt::format("| runtime | {} | {} |\n", code(run.base_runtime), code(run.candidate_runtime));
  const PairMeasurement& measured = run.speed.measured;
  if (!run.speed.failure)
    out += fmt::format("| {} | {} | {} |\n", measured.by_cpu_time ? "CPU time" : "latency",
                       ms_text(measured.by_cpu_time ? measured.a_cpu_ns : measured.a_wall_ns),
                       ms_text(measured.by_cpu_time ? measured.b_cpu_ns : measured.b_wall_ns));
  out += fmt::format("\n- {} {}\n", mark(run.speed.answer), in_markdown(speed_words(run)));
  if (run.equality)
    out += fmt::format("- {} {}\n", mark(run.equality->answer), in_markdown(equality_words(*run.equality)));
  return out + fmt::format("\n<sub>{} thread{}, {}; inputs: {}; intervals are of 95 %</sub>\n", run.threads,
                           run.threads == 1 ? "" : "s", code(run.machine), code(run.inputs));
}

}  // namespace isomer
