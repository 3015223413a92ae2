// The result of the search for operators: the best that is faster with 95 % confidence, or the original.
#include <fmt/format.h>

#include <utility>

#include "app/api/compile/compile_operators.h"
#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "app/optimize/guard.h"

namespace isomer::api {
namespace {

namespace fs = std::filesystem;

ReportJson to_json(const CoverMaker::Row& row) {
  const auto ms = [](double ns) { return ns > 0 ? ReportJson(ns / 1e6) : ReportJson(nullptr); };
  return {{"first", row.first},
          {"last", row.last},
          {"nodes", row.nodes},
          {"ours_ms", ms(row.ours_ns.value_or(0))},
          {"runtime_ms", ms(row.runtime_ns)},
          {"why", row.failure},
          {"operator", row.region ? ReportJson(*row.region) : ReportJson(nullptr)}};
}

}  // namespace

void OperatorSearch::keep_given(const std::string& why) {
  if (best_.ratio) refused_ = best_;
  best_ = {.model = model_};
  best_graph_ = 0;
  has_operators_ = false;
  reason_ = why;
}

void OperatorSearch::take_best(Candidate made) {
  best_ = std::move(made);
  has_operators_ = !best_.plans.empty();
}

// Only a result that is faster by the rule of `optimize` is written.
void OperatorSearch::confirm_best() {
  if (extras_.is_quick && !best_.plans.empty()) return;
  if (!maker_.can_compare() && !best_.ratio) return keep_given(objection_);
  const auto confirm = [&](Candidate& made) {
    try {
      maker_.confirm(made);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::Stopped || !budget_.is_time_over()) throw;
      has_run_out_ = true;
    }
    return maker_.is_surely_faster(made);
  };
  if (best_.ratio && confirm(best_)) return;
  if (refused_ && (!refused_->errors || refused_->errors->kept) && maker_.is_surely_faster(*refused_)) {
    best_ = *std::exchange(refused_, std::nullopt);
    best_graph_ = refused_graph_;
    return;
  }
  keep_given(why_unchanged());
}

std::string OperatorSearch::why_unchanged() const {
  const Candidate* seen = best_.ratio ? &best_ : refused_ ? &*refused_ : nullptr;
  if (seen == nullptr || !seen->ratio)
    return !objection_.empty()         ? objection_
           : timer_ && timer_->timed() ? "no region is faster as an operator"
                                       : "no region can be an operator";
  if (seen->errors && !seen->errors->kept && maker_.is_surely_faster(*seen))
    return why_inexact(*seen->errors);
  return why_not_fast_enough(*seen);
}

std::string OperatorSearch::why_inexact(const Compiled::Errors& errors) const {
  return fmt::format(
      "the rounding error would be {:.1e} instead of {:.1e}, more than --max-error-growth {:g} allows",
      errors.module, errors.runtime, options_.max_error_growth);
}

std::string OperatorSearch::why_not_fast_enough(const Candidate& made) const {
  const isomer::Interval ratio{made.ratio->estimate, made.ratio->low, made.ratio->high};
  return why_not_faster(ratio, options_.min_gain) + (has_run_out_ ? "; the time ran out" : "");
}

// Everything that can be compiled, if the runtime loads it.
void OperatorSearch::take_unmeasured() {
  if (!graphs_[0].is_open()) best_ = maker_.whole(model_.state().model.graph, next_folder());
  else if (!graphs_[0].cover->cut().segments.empty())
    best_ = maker_.covered(*graphs_[0].cover, graphs_[0].cover->all(), next_folder(), nullptr);
  if (best_.plans.empty()) return keep_given(objection_);
  if (const auto why = why_not_loaded(best_))
    keep_given("the runtime does not load the compiled model: " + *why);
}

std::optional<std::string> OperatorSearch::why_not_loaded(const Candidate& made) const {
  RuntimeOptions runtime = options_.run.runtime;
  runtime.custom_op_libraries.push_back(fs::absolute(made.library).string());
  const RuntimeRequest request = request_of(runtime);
  WorkerOptions worker = worker_options(request, runtime.name);
  worker.limit = limit_.limit();
  const auto judge = isomer::Judge::start(worker);
  if (!judge) return std::nullopt;
  const RunnableFile file(made.model->state(), options_.run.scratch);
  const auto loads = (*judge)->check_loads(file.source(), take(runtime_options(request)));
  return loads ? std::nullopt : std::optional(loads.error().what);
}

// The files of the best; without operators, those of the whole model as a module, or a library that has
// none, so that a program that registers it runs.
const Candidate& OperatorSearch::write(const OutputFolder& folder) {
  if (!has_operators_ && wholes_[0]) {
    const Candidate given = std::exchange(best_, *wholes_[0]);
    best_.model = given.model;
    if (given.ratio) best_.ratio = given.ratio;
  }
  if (!best_.ratio && refused_) {  // what the model that was given is faster than
    best_.ratio = refused_->ratio;
    best_.errors = refused_->errors;
    best_.sums = refused_->sums;
  }
  if (best_.library.empty()) {
    CompileRequest request = maker_.request();
    request.folder = next_folder();
    request.limit = {};  // a second, after the time is over, for a folder that can be used
    const CompiledRegions none = take(compile_regions({}, request));
    best_.library = none.library;
    best_.compiler = none.compiler;
    best_.library_bytes = none.library_bytes;
  }
  folder.take(best_.library.parent_path(), options_.name);
  save(*best_.model, folder.path() / "model.onnx");
  return best_;
}

void OperatorSearch::tell(ReportJson& json) const {
  const Graph& graph = graphs_[best_graph_];
  json["operators"] = has_operators_ ? best_.plans.size() : 0;
  json["graph"] = graph.name;
  json["tried"] = tried_;
  json["regions"] = ReportJson::array();
  if (!graph.cover || graph.cover->cut().segments.empty()) return;
  const Cover all{.ours = std::vector<bool>(graph.cover->cut().segments.size(), has_operators())};
  for (const CoverMaker::Row& row : graph.cover->rows(best_.cover.value_or(all)))
    json["regions"].push_back(to_json(row));
}

}  // namespace isomer::api
