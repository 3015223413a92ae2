#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/api/compile/budget_stop.h"
#include "app/api/compile/compile_candidate.h"
#include "app/api/compile/compile_operators.h"
#include "app/api/compile/compile_sizes.h"
#include "app/api/compile/compile_tuning.h"
#include "app/api/compile/compiled_report.h"
#include "app/api/compile/output_folder.h"
#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "app/api/stopwatch.h"
#include "app/inputs/partial_shapes.h"
#include "app/inputs/size_sets.h"
#include "base/temporary_folder.h"
#include "compiler/loops/intrinsic.h"
#include "compiler/loops/samples.h"
#include "io/onnx/size_arguments.h"

namespace isomer::api {
namespace {

constexpr int kMostThreads = 1024;

// Runs the C++ of a user's kernels beside the graphs that it has to compute.
void try_intrinsics(const CompileOptions& options) {
  for (const lower::Intrinsic& own : take(lower::parse_intrinsics(options.schedules))) {
    const auto refuse = [&](ErrorKind kind, const std::string& why) {
      throw Error(kind, fmt::format("intrinsic {}: {}", own.name, why));
    };
    if (!runs_here(options.target))
      refuse(ErrorKind::BadInput, options.target + " does not run here, so its code can't be tested");
    for (lower::Trial& trial : take(lower::trials(own))) {
      CompileOptions trying = options;
      trying.schedules = trial.schedule;
      trying.inputs = {};
      trying.name = "trial";
      trying.seconds = 1;
      trying.tune_seconds = 0;
      const TemporaryFolder folder(
          options.run.scratch.empty() ? std::filesystem::temp_directory_path() : options.run.scratch,
          "isomer-intrinsic");
      isomer::Model of_graph;
      of_graph.graph = std::move(trial.graph);
      of_graph.ir_version = 8;
      const Model model = to_public(std::move(of_graph));
      CandidateMaker maker(model, folder.path(), trying);
      try {
        maker.whole(model.state().model.graph, folder.path());
      } catch (const Error& e) {
        refuse(e.kind() == ErrorKind::Internal ? ErrorKind::BadInput : e.kind(),
               fmt::format("its code was tested: {}", e.what()));
      }
      if (!maker.can_compare())
        refuse(ErrorKind::Runtime, "its code can't be tested: " + maker.not_compared());
    }
  }
}

void check_options(const CompileOptions& options) {
  const auto refuse = [](const std::string& why) { throw Error(ErrorKind::BadInput, why); };
  const std::vector<std::string> sums = sums_of_products();
  if (!options.sums.empty() && options.sums != kBfloat16 &&
      std::ranges::find(sums, options.sums) == sums.end())
    refuse(fmt::format("sums can't be {}", options.sums));
  if (options.threads < 1 || options.threads > kMostThreads)
    refuse(fmt::format("threads can't be {}: 1 to {}", options.threads, kMostThreads));
  if (options.as_operator && !runs_here(options.target))
    refuse(fmt::format("an operator is measured before it is written, and {} does not run here",
                       options.target));
  (void)take(tune_search(options.tune_search));
  if (options.tune_seconds < 0) refuse("tune_seconds can't be negative");
  if (!(options.budget > 0)) refuse("budget must be more than 0");
  if (!(options.min_gain >= 1)) refuse("min_gain must be 1 or more");
}

// Where sizes are open that must be known, those of given inputs are meant; for operators, which leave all
// other sizes to the runtime, sizes at which the model runs.
void take_sizes_of_feeds(const Model& model, CompileOptions& options) {
  const bool is_given = has_feeds(options.inputs);
  const isomer::Graph& graph = model.state().model.graph;
  if (size_sets(options.inputs.sizes).size() > 1 || (!is_given && !options.as_operator)) return;
  const InferOptions sizes = take(parse_sizes(options.inputs.sizes, graph));
  if (lower::open_batch(graph, sizes).ok()) return;
  const NamedTensors feeds = feeds_of(options.inputs, {}, {model}).tensors;
  const Inference inference = take(infer(graph, sizes));
  for (const Value input : graph.inputs()) {
    const auto feed = feeds.find(graph.name_of(input));
    if (feed == feeds.end() || concrete_shape(inference.of(input))) continue;
    options.inputs.sizes.push_back(
        fmt::format("{}={}", graph.name_of(input), fmt::join(feed->second.extents(), "x")));
  }
}

// With the extents that some sizes give, while others stay open; these are no sizes any more.
std::optional<Model> partly_sized(const Model& model, CompileOptions& options) {
  std::vector<std::string> partial;
  std::erase_if(options.inputs.sizes, [&](const std::string& size) {
    if (is_partial_shape(size)) partial.push_back(size);
    return is_partial_shape(size);
  });
  if (partial.empty()) return std::nullopt;
  if (options.as_operator)
    throw Error(ErrorKind::BadInput, fmt::format("--shape {}: operators run at every size; give all extents, "
                                                 "at which they are measured",
                                                 partial[0]));
  isomer::Model sized = model.state().model;
  sized.graph = take(with_partial_shapes(sized.graph, partial));
  return to_public(std::move(sized));
}

Compiled compile_as_operators(const Model& model, const CompileOptions& options, const BudgetStop& budget,
                              const OutputFolder& folder) {
  const Stopwatch watch;
  CandidateMaker maker(model, folder.scratch(), options);
  CompileTuning tuning(maker, options);
  OperatorSearch search(model, maker, tuning, options, budget, folder);
  search.find();
  const Candidate& made = search.write(folder);
  return compiled_of(made, {maker, tuning, &search, folder.path(), watch.ms()});
}

Compiled compile_as_module(const Model& model, const CompileOptions& options, const BudgetStop& budget,
                           const OutputFolder& folder) {
  const Stopwatch watch;
  CandidateMaker maker(model, folder.scratch(), options);
  CompileTuning tuning(maker, options);
  const isomer::Graph& graph = model.state().model.graph;
  Candidate made = maker.whole(graph, folder.scratch() / "module");
  try {
    maker.measure(made);
    const std::filesystem::path aside = folder.scratch() / "tuned";
    if (auto tuned =
            tuning.faster(made, {&graph}, options.inputs.sizes, [&] { return maker.whole(graph, aside); }))
      made = std::move(*tuned);
  } catch (const Error& e) {
    // Its outputs were compared: the result is complete, only its speed is unknown.
    if (e.kind() != ErrorKind::Stopped || !budget.is_time_over()) throw;
    if (!made.ratio) maker.leave_unmeasured("the time ran out; try a longer --budget");
  }
  folder.take(made.library.parent_path(), options.name);
  return compiled_of(made, {maker, tuning, nullptr, folder.path(), watch.ms()});
}

}  // namespace

std::vector<std::string> tune_searches() { return isomer::tune_searches(); }

std::vector<std::string> compile_targets() { return isomer::compile_targets(); }

Compiled compile(const Model& given, const std::filesystem::path& folder, const CompileOptions& options) {
  return guarded([&] {
    check_options(options);
    const BudgetStop budget(options.run.stop, options.budget + options.tune_seconds);
    CompileOptions within = options;
    const std::optional<Model> sized = partly_sized(given, within);
    const Model& model = sized ? *sized : given;
    within.run.stop = budget.token();
    std::string now = "reading the model";
    within.run.progress = [&](std::string_view what) {
      now = what;
      if (options.run.progress) options.run.progress(what);
    };
    try {
      try_intrinsics(within);
      const bool is_size_guessed = guesses_sizes(within.inputs);
      take_sizes_of_feeds(model, within);
      if (within.as_operator) check_not_overwritten(model, folder);
      const OutputFolder out(folder);
      if (decides_by_size(model, within)) return compile_for_sizes(model, within, out, is_size_guessed);
      return within.as_operator ? compile_as_operators(model, within, budget, out)
                                : compile_as_module(model, within, budget, out);
    } catch (const Error& e) {
      // Whatever was under way failed because it was ended.
      if (e.kind() == ErrorKind::Internal || !within.run.stop.stop_requested()) throw;
      if (!budget.is_time_over()) throw Error(ErrorKind::Stopped, "it was stopped: no file was written");
      throw Error(ErrorKind::BadInput,
                  fmt::format("the time ran out while {}: no file was written; give a longer --budget", now));
    }
  });
}

}  // namespace isomer::api
