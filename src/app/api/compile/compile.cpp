#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "app/api/compile/compile_candidate.h"
#include "app/api/compile/compile_operators.h"
#include "app/api/compile/compile_tuning.h"
#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "app/api/report_json.h"
#include "app/api/stopwatch.h"
#include "base/temporary_folder.h"
#include "compiler/loops/intrinsic.h"

namespace isomer::api {
namespace {

constexpr int kMostThreads = 1024;

ReportJson to_json(const Compiled::Errors& e) {
  return {{"module", e.module}, {"runtime", e.runtime}, {"kept", e.kept}};
}

// `search`: of operators; nullptr: the model is a module.
Compiled report_of(const Candidate& made, const CandidateMaker& maker, const OperatorSearch* search,
                   const CompileTuning& tuning, double ms) {
  Compiled out{
      .errors = made.errors, .sums = made.sums, .ratio = made.ratio, .not_compared = maker.not_compared()};
  out.is_operator = search != nullptr && search->has_operators();
  for (const lower::Plan& plan : made.plans)
    for (const lower::Nest& nest : plan.nests) out.nests.push_back({nest.name, lower::text(nest, plan)});
  ReportJson json = to_json(made, maker.request(), ms);
  json.update({{"sums", out.sums},
               {"errors", out.errors ? to_json(*out.errors) : ReportJson(nullptr)},
               {"speed", out.ratio ? to_json(*out.ratio) : ReportJson(nullptr)},
               {"not_compared", out.not_compared},
               {"is_operator", out.is_operator},
               {"operators", 0},
               {"graph", ""},
               {"tried", ReportJson::array()},
               {"regions", ReportJson::array()},
               {"tuning", tuning.json()}});
  if (search != nullptr) search->tell(json);
  out.json = json_text(json);
  return out;
}

// Runs the C++ of a user's kernels beside the graphs that it has to compute.
void try_intrinsics(const CompileOptions& options) {
  for (const lower::Intrinsic& own : take(lower::parse_intrinsics(options.schedules))) {
    const auto refuse = [&](ErrorKind kind, const std::string& why) {
      throw Error(kind, fmt::format("intrinsic {}: {}", own.name, why));
    };
    if (!runs_here(options.target))
      refuse(ErrorKind::BadInput, options.target + " does not run here, so its code can't be tried");
    for (lower::Trial& trial : take(lower::trials(own))) {
      CompileOptions trying = options;
      trying.schedules = trial.schedule;
      trying.sizes.clear();
      trying.feeds.reset();
      trying.feeds_file.clear();
      trying.name = "trial";
      trying.seconds = 1;
      trying.tune_seconds = trying.optimize_seconds = 0;
      const TemporaryFolder folder(
          options.scratch.empty() ? std::filesystem::temp_directory_path() : options.scratch,
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
               fmt::format("its code was tried: {}", e.what()));
      }
      if (!maker.can_compare())
        refuse(ErrorKind::Runtime, "its code can't be tried: " + maker.not_compared());
    }
  }
}

}  // namespace

std::vector<std::string> tune_searches() { return isomer::tune_searches(); }

std::vector<std::string> compile_targets() { return isomer::compile_targets(); }

Compiled compile(const Model& model, const std::filesystem::path& folder, const CompileOptions& options) {
  return guarded([&] {
    const std::vector<std::string> sums = sums_of_products();
    if (!options.sums.empty() && options.sums != kBfloat16 &&
        std::ranges::find(sums, options.sums) == sums.end())
      throw Error(ErrorKind::BadInput, fmt::format("sums can't be {}", options.sums));
    if (options.threads < 1 || options.threads > kMostThreads)
      throw Error(ErrorKind::BadInput,
                  fmt::format("threads can't be {}: 1 to {}", options.threads, kMostThreads));
    if (options.as_operator && !runs_here(options.target))
      throw Error(ErrorKind::BadInput,
                  fmt::format("an operator is measured before it is written, and {} does not run here",
                              options.target));
    if (!options.equal.empty() && (!options.as_operator || !options.schedules.empty()))
      throw Error(ErrorKind::BadInput,
                  "equal models are of use to operators of a runtime that are chosen here");
    (void)take(tune_search(options.tune_search));
    if (options.tune_seconds < 0 || options.optimize_seconds < 0)
      throw Error(ErrorKind::BadInput, "a search takes some seconds, or none");
    if (options.optimize_seconds > 0 && (!options.as_operator || !options.schedules.empty()))
      throw Error(ErrorKind::BadInput,
                  "equal models are looked for where operators of a runtime are chosen here");
    try_intrinsics(options);
    const Stopwatch watch;
    CandidateMaker maker(model, folder, options);
    CompileTuning tuning(maker, options);
    if (options.as_operator) {
      OperatorSearch search(model, maker, tuning, options);
      const Candidate& made = search.run();
      return report_of(made, maker, &search, tuning, watch.ms());
    }
    Candidate made = maker.whole(model.state().model.graph, folder);
    maker.measure(made);
    const std::filesystem::path aside = folder / ".tuned";
    const isomer::Graph& graph = model.state().model.graph;
    if (auto tuned =
            tuning.faster(made, {&graph}, options.sizes, [&] { return maker.whole(graph, aside); })) {
      made = std::move(*tuned);
      move_files(made, folder);
    }
    std::error_code failure;
    std::filesystem::remove_all(aside, failure);
    return report_of(made, maker, nullptr, tuning, watch.ms());
  });
}

}  // namespace isomer::api
