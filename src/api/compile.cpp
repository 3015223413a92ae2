#include "pipeline/compile_module.h"

#include "api/errors.h"
#include "api/model_state.h"
#include "api/report_json.h"
#include "api/stopwatch.h"
#include "lower/nest.h"

namespace isomer::api {
namespace {

ReportJson to_json(const CompiledModule& module, const CompileRequest& request, double ms) {
  const lower::Plan& plan = module.texts.plan;
  std::size_t tiled = 0, winograd = 0;
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
          {"weight_bytes", plan.weights},
          {"library_bytes", module.library_bytes},
          {"ms", ms}};
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
    const Stopwatch watch;
    const CompiledModule module = take(compile_module(model.state().model.graph, request));
    Compiled out;
    for (const lower::Nest& nest : module.texts.plan.nests)
      out.nests.push_back({nest.name, lower::text(nest, module.texts.plan)});
    out.json = json_text(to_json(module, request, watch.ms()));
    return out;
  });
}

}  // namespace isomer::api
