#include "pipeline/compile_module.h"

#include "api/errors.h"
#include "api/model_state.h"
#include "api/report_json.h"
#include "lower/nest.h"

namespace isomer::api {
namespace {

ReportJson to_json(const CompiledModule& module, const CompileRequest& request) {
  const lower::Plan& plan = module.texts.plan;
  std::size_t tiled = 0;
  for (const lower::Nest& nest : plan.nests) tiled += nest.tile ? 1 : 0;
  return {{"folder", request.folder.string()},
          {"target", request.target},
          {"compiler", module.compiler},
          {"nests", plan.nests.size()},
          {"tiled", tiled},
          {"functions", module.texts.functions},
          {"workspace_bytes", plan.workspace},
          {"weight_bytes", plan.weights},
          {"library_bytes", module.library_bytes},
          {"lower_seconds", module.lower_seconds},
          {"compile_seconds", module.compile_seconds}};
}

}  // namespace

std::vector<std::string> compile_targets() { return isomer::compile_targets(); }

Compiled compile(const Model& model, const std::filesystem::path& folder, const CompileOptions& options) {
  return guarded([&] {
    const CompileRequest request{.folder = folder,
                                 .name = options.name,
                                 .target = options.target,
                                 .compiler = options.compiler,
                                 .sizes = options.sizes};
    const CompiledModule module = take(compile_module(model.state().model.graph, request));
    Compiled out;
    out.nests = lower::text(module.texts.plan);
    out.json = json_text(to_json(module, request));
    return out;
  });
}

}  // namespace isomer::api
