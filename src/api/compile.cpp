#include "pipeline/compile_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/against_runtime.h"
#include "api/errors.h"
#include "api/model_state.h"
#include "api/report_json.h"
#include "api/stopwatch.h"
#include "lower/nest.h"

namespace isomer::api {
namespace {

using lower::Exactness;

ReportJson to_json(const Compiled::Errors& e) {
  return {{"module", e.module}, {"runtime", e.runtime}, {"kept", e.kept}};
}
ReportJson to_json(const Interval& i) { return {{"ratio", i.estimate}, {"low", i.low}, {"high", i.high}}; }

ReportJson to_json(const CompiledModule& module, const CompileRequest& request, double ms) {
  const lower::Plan& plan = module.texts.plan;
  std::size_t tiled = 0, winograd = 0;
  std::int64_t tensor_bytes = 0;  // of all that is in the workspace at some time
  for (const lower::Storage& buffer : plan.buffers)
    if (buffer.kind == lower::Storage::Kind::Local && buffer.offset >= 0)
      tensor_bytes += buffer.size * lower::stored_bytes(buffer.type);
  for (const lower::Nest& nest : plan.nests) {
    tiled += nest.tile ? 1 : 0;
    winograd += nest.winograd ? 1 : 0;
  }
  return {{"folder", request.folder.string()},
          {"target", request.target},
          {"compiler", module.compiler},
          {"nests", plan.nests.size()},
          {"tiled", tiled},
          {"winograd", winograd},
          {"functions", module.texts.functions},
          {"threads", request.threads},
          {"workspace_bytes", plan.workspace},
          {"thread_workspace_bytes", lower::thread_bytes(plan)},
          {"batch", plan.batch.empty() ? ReportJson(nullptr) : ReportJson(plan.batch)},
          {"greedy_workspace_bytes", plan.greedy_workspace},
          {"least_workspace_bytes", plan.least_workspace},
          {"tensor_bytes", tensor_bytes},
          {"weight_bytes", plan.weights},
          {"library_bytes", module.library_bytes},
          {"ms", ms}};
}

struct Way {
  Exactness exactness;
  const char* word;
};
constexpr std::array kWays{Way{Exactness::Fast, "fast"}, Way{Exactness::ShortSums, "short"},
                           Way{Exactness::SmallTiles, "F(2,3)"}, Way{Exactness::Direct, "direct"}};

constexpr int kMostThreads = 1024;

bool has_winograd(const lower::Plan& plan) {
  return std::ranges::any_of(plan.nests, [](const lower::Nest& n) { return n.winograd.has_value(); });
}

// Compiles a model in the first way that is exact enough.
class Compilation {
 public:
  Compilation(const Model& model, const std::filesystem::path& folder, const CompileOptions& options)
      : model_(model), options_(options) {
    request_ = {.folder = folder,
                .name = options.name,
                .target = options.target,
                .compiler = options.compiler,
                .sizes = options.sizes,
                .schedules = options.schedules,
                .threads = options.threads};
    if (options.seconds == 0) out_.not_compared = "not asked for";
    else if (!runs_here(options.target)) out_.not_compared = options.target + " does not run here";
    else against_.emplace(model, options);
  }

  Compiled run() {
    const Stopwatch watch;
    bool is_made = false;
    for (const Way& way : kWays) {
      if (!options_.sums.empty() && options_.sums != way.word) continue;
      // Without Winograd, the rest is the same.
      if (is_made && way.exactness > Exactness::ShortSums && !has_winograd(module_.texts.plan)) break;
      make(way);
      is_made = true;
      if (keeps_errors()) break;
    }
    ReportJson json = to_json(module_, request_, watch.ms());
    measure_speed();
    tell(json);
    return std::move(out_);
  }

 private:
  void make(const Way& way) {
    if (options_.progress) options_.progress(fmt::format("compiling, sums {}", way.word));
    request_.exactness = way.exactness;
    out_.sums = way.word;
    module_ = take(compile_module(model_.state().model.graph, request_));
    if (against_) against_->take_batches(module_.texts.plan);
    operator_.emplace(std::make_shared<Model::State>(
        Model::State{.model = take(operator_model(module_.texts.plan, options_.name))}));
  }

  // Without a runtime that runs the model there is nothing to keep.
  template <class Ask>
  void ask(const Ask& question) {
    if (!against_) return;
    try {
      question();
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::Runtime) throw;
      out_.not_compared = e.what();
      against_.reset();
    }
  }
  bool keeps_errors() {
    ask([&] {
      against_->compare_outputs(*operator_, module_.library);
      if (options_.max_error_growth > 0) out_.errors = against_->errors(*operator_, module_.library);
    });
    return !against_ || !out_.errors || out_.errors->kept;
  }
  void measure_speed() {
    ask([&] { out_.ratio = against_->ratio(*operator_, module_.library); });
  }

  void tell(ReportJson& json) {
    for (const lower::Nest& nest : module_.texts.plan.nests)
      out_.nests.push_back({nest.name, lower::text(nest, module_.texts.plan)});
    json["sums"] = out_.sums;
    json["errors"] = out_.errors ? to_json(*out_.errors) : ReportJson(nullptr);
    json["speed"] = out_.ratio ? to_json(*out_.ratio) : ReportJson(nullptr);
    json["not_compared"] = out_.not_compared;
    if (options_.as_operator) {
      // Never slower: then it is the model that was given.
      out_.is_operator = !out_.ratio || out_.ratio->high >= 1;
      save(out_.is_operator ? *operator_ : model_, request_.folder / "model.onnx");
    }
    json["is_operator"] = out_.is_operator;
    out_.json = json_text(json);
  }

  const Model& model_;
  const CompileOptions& options_;
  CompileRequest request_;
  CompiledModule module_;
  std::optional<Model> operator_;  // the module, as one of the runtime's
  std::optional<AgainstRuntime> against_;
  Compiled out_;
};

}  // namespace

std::vector<std::string> compile_targets() { return isomer::compile_targets(); }

std::vector<std::string> sums_of_products() {
  std::vector<std::string> words;
  for (const Way& way : kWays) words.emplace_back(way.word);
  return words;
}

Compiled compile(const Model& model, const std::filesystem::path& folder, const CompileOptions& options) {
  return guarded([&] {
    if (!options.sums.empty() && std::ranges::find(kWays, options.sums, &Way::word) == kWays.end())
      throw Error(ErrorKind::BadInput, fmt::format("sums can't be {}", options.sums));
    if (options.threads < 1 || options.threads > kMostThreads)
      throw Error(ErrorKind::BadInput,
                  fmt::format("threads can't be {}: 1 to {}", options.threads, kMostThreads));
    if (options.as_operator && !runs_here(options.target))
      throw Error(ErrorKind::BadInput,
                  fmt::format("an operator is measured before it is written, and {} does not run here",
                              options.target));
    return Compilation(model, folder, options).run();
  });
}

}  // namespace isomer::api
