#include "pipeline/compile_module.h"

#include <fmt/format.h>

#include "api/errors.h"
#include "api/model_state.h"
#include "api/report_json.h"
#include "api/stopwatch.h"
#include "lower/nest.h"

namespace isomer::api {
namespace {

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
          {"workspace_bytes", plan.workspace},
          {"tensor_bytes", tensor_bytes},
          {"weight_bytes", plan.weights},
          {"library_bytes", module.library_bytes},
          {"ms", ms}};
}

// The module, as an operator of the runtime, against the runtime itself.
class AgainstRuntime {
 public:
  AgainstRuntime(const Model& model, const CompiledModule& module, const CompileOptions& options)
      : model_(model), options_(options), runtime_(options.runtime) {
    runtime_.threads = 1;  // as the module has
    runtime_.custom_op_libraries.push_back(std::filesystem::absolute(module.library));
  }

  // Error: outputs differ.
  void compare_outputs(const Model& as_operator) const {
    const Comparison compared = compare(model_, as_operator,
                                        {.sizes = options_.sizes,
                                         .runtime = runtime_,
                                         .scratch = options_.scratch,
                                         .progress = options_.progress,
                                         .stop = options_.stop});
    if (!compared.differ) return;
    std::string where;
    for (const Comparison::Output& o : compared.outputs)
      where +=
          fmt::format("{}{}: {}", where.empty() ? "" : "; ", o.a,
                      o.misfit.empty() ? fmt::format("{:.1e} of the largest value", o.of_scale) : o.misfit);
    throw Error(
        ErrorKind::Internal,
        fmt::format("the compiled model's outputs are not the runtime's ({}): please report this", where));
  }
  Interval ratio(const Model& as_operator) const {
    const BenchReport report = bench({model_, as_operator}, {.sizes = options_.sizes,
                                                             .seconds = options_.seconds,
                                                             .runtime = runtime_,
                                                             .scratch = options_.scratch,
                                                             .progress = options_.progress,
                                                             .stop = options_.stop});
    for (const BenchReport::Of& m : report.models)
      if (!m.failure.empty()) throw Error(ErrorKind::Runtime, m.failure);
    if (report.pairs.empty() || !report.pairs[0].failure.empty())
      throw Error(ErrorKind::Runtime,
                  report.pairs.empty() ? "nothing was measured" : report.pairs[0].failure);
    return report.pairs[0].ratio;
  }

 private:
  const Model& model_;
  const CompileOptions& options_;
  RuntimeOptions runtime_;
};

// Its ratio, or why there is none.
void compare_with_runtime(const Model& model, const Model& as_operator, const CompiledModule& module,
                          const CompileOptions& options, Compiled& out) {
  if (options.seconds == 0) out.not_compared = "not asked for";
  else if (!runs_here(options.target)) out.not_compared = options.target + " does not run here";
  if (!out.not_compared.empty()) return;
  const AgainstRuntime against(model, module, options);
  try {
    against.compare_outputs(as_operator);
    out.ratio = against.ratio(as_operator);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::Runtime) throw;
    out.not_compared = e.what();  // there is none, or it can't run the model
  }
}

}  // namespace

std::vector<std::string> compile_targets() { return isomer::compile_targets(); }

Compiled compile(const Model& model, const std::filesystem::path& folder, const CompileOptions& options) {
  return guarded([&] {
    const CompileRequest request{.folder = folder,
                                 .name = options.name,
                                 .target = options.target,
                                 .compiler = options.compiler,
                                 .sizes = options.sizes,
                                 .schedules = options.schedules};
    if (options.as_operator && !runs_here(options.target))
      throw Error(ErrorKind::BadInput,
                  fmt::format("an operator is measured before it is written, and {} does not run here",
                              options.target));
    const Stopwatch watch;
    if (options.progress) options.progress("compiling");
    const CompiledModule module = take(compile_module(model.state().model.graph, request));
    Compiled out;
    for (const lower::Nest& nest : module.texts.plan.nests)
      out.nests.push_back({nest.name, lower::text(nest, module.texts.plan)});
    ReportJson json = to_json(module, request, watch.ms());
    const Model as_operator(std::make_shared<Model::State>(
        Model::State{.model = take(operator_model(module.texts.plan, options.name))}));
    compare_with_runtime(model, as_operator, module, options, out);
    json["speed"] = out.ratio ? to_json(*out.ratio) : ReportJson(nullptr);
    json["not_compared"] = out.not_compared;
    if (options.as_operator) {
      // Never slower: then it is the model that was given.
      out.is_operator = !out.ratio || out.ratio->high >= 1;
      save(out.is_operator ? as_operator : model, folder / "model.onnx");
    }
    json["is_operator"] = out.is_operator;
    out.json = json_text(json);
    return out;
  });
}

}  // namespace isomer::api
