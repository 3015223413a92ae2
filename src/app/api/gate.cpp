#include "app/measure/gate.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <memory>

#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "app/api/report_json.h"
#include "runtime/engines/engines.h"
#include "runtime/judge/machine.h"

namespace isomer::api {
namespace {

// A model on its runtime, as the gate wants it.
struct Side {
  Side(const Model& given, const RuntimeOptions& options, const std::filesystem::path& scratch,
       const char* otherwise)
      : state(given.state()),
        name(state.file.empty() ? otherwise : state.given),
        file(state, scratch),
        request(request_of(options)),
        runtime(take(runtime_options(request))),
        title(engine_named(options.name)->title) {}

  ComparedModel on(isomer::Judge* judge) const { return {state.model, file.source(), judge, runtime}; }

  const Model::State& state;
  std::string name;
  RunnableFile file;
  RuntimeRequest request;
  isomer::RuntimeOptions runtime;
  std::string title;
};

GateEquality judge_equality(const Model& base, const Model& candidate, const GateRequest& request,
                            const GateOptions& options) {
  const Proof proof = prove_equal(base, candidate,
                                  {.seconds = options.prove_seconds,
                                   .certificate = options.certificate,
                                   .progress = options.run.progress,
                                   .stop = options.run.stop});
  GateEquality out{.why = proof.why,
                   .rounded_constants = proof.rounded_constants,
                   .flushed = proof.flushed,
                   .by_position = proof.by_position,
                   .sizes_from = proof.sizes_from};
  const bool is_proved = proof.verdict == Verdict::Proved, is_refuted = proof.verdict == Verdict::Refuted;
  out.proof = is_proved ? "proved" : is_refuted ? "refuted" : "undecided";
  out.answer = is_proved ? GateAnswer::Passes : is_refuted ? GateAnswer::Fails : GateAnswer::Unsure;
  // A proof is about models. Two runtimes may disagree about one model, so outputs decide what is unproved.
  const ComparedModel &a = request.base, &b = request.candidate;
  if (is_refuted || (is_proved && a.judge == b.judge)) return out;
  const ComparedModels compared = take(
      compare_models({.a = a, .b = b, .feeds = request.feeds, .scratch = scratch_name(options.run.scratch)}));
  out.outputs_differ = compared.differ();
  if (!compared.differ()) return out;
  out.answer = GateAnswer::Fails;
  for (const ComparedValue& value : compared.outputs)
    if (value.is_apart)
      out.why = fmt::format("output {} differs beyond rounding, by {:.2g} of its largest value", value.a,
                            value.difference.of_scale);
  return out;
}

GateReport report_of(const GateRun& run) {
  const GateAnswer answer = run.answer();
  GateReport out{.verdict = answer == GateAnswer::Passes  ? GateReport::Verdict::Passes
                            : answer == GateAnswer::Fails ? GateReport::Verdict::Fails
                                                          : GateReport::Verdict::Unsure,
                 .line = line_of(run),
                 .markdown = markdown_of(run),
                 .json = json_text(to_json(run))};
  if (!run.speed.failure) out.ratio = to_public(run.speed.measured.ratio);
  return out;
}

}  // namespace

GateReport gate(const Model& base, const Model& candidate, const GateOptions& options) {
  return guarded([&] {
    if (!(std::isfinite(options.min_ratio) && options.min_ratio > 0))
      throw Error(ErrorKind::BadInput, "min_ratio must be more than 0");
    const Side first(base, options.base_runtime.value_or(options.run.runtime), options.run.scratch, "base"),
        second(candidate, options.run.runtime, options.run.scratch, "new");
    const FeedsForModels feeds = feeds_of(options.inputs, options.run, {base, candidate});
    const auto start = [](const Side& side) {
      return take(isomer::Judge::start(worker_options(side.request, side.request.runtimes.front())));
    };
    const auto judge = start(second);
    const auto other = options.base_runtime ? start(first) : nullptr;
    isomer::Judge& base_judge = other ? *other : *judge;
    GateRequest request{.base = first.on(&base_judge),
                        .candidate = second.on(judge.get()),
                        .feeds = feeds.tensors,
                        .min_ratio = options.min_ratio};
    request.measure.runtime = second.runtime;
    request.measure.seconds = checked_seconds(options.seconds);
    request.measure.clock = internal_clock(options.clock);
    request.measure.seed = options.inputs.seed;
    if (options.run.progress) request.progress = [&](const std::string& now) { options.run.progress(now); };
    GateRun run{.base = first.name,
                .candidate = second.name,
                .base_runtime = fmt::format("{} {}", first.title, base_judge.version()),
                .candidate_runtime = fmt::format("{} {}", second.title, judge->version()),
                .machine = this_machine().cpu,
                .inputs = feeds.words,
                .threads = options.run.runtime.threads,
                .min_ratio = options.min_ratio};
    run.speed = take(judge_speed(request));
    // A model that does not run has no outputs to compare.
    if (options.equal && !run.speed.failure) run.equality = judge_equality(base, candidate, request, options);
    return report_of(run);
  });
}

}  // namespace isomer::api
