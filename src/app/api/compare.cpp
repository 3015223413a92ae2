#include "app/equality/compare_models.h"

#include <nlohmann/json.hpp>

#include <memory>

#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "app/api/report_json.h"
#include "app/api/stoppable_limit.h"

namespace isomer::api {

Comparison compare(const Model& a, const Model& b, const CompareOptions& options) {
  return guarded([&] {
    if (options.engine != Engine::Reference && options.engine != Engine::Runtime)
      throw Error(ErrorKind::BadInput, "models are compared in the types that they compute in");
    const bool is_here = options.engine == Engine::Reference;
    const Model::State &first = a.state(), &second = b.state();
    const FeedsForModels feeds =
        is_here ? untried_feeds(options.inputs, {a, b}) : feeds_of(options.inputs, options.run, {a, b});
    const StoppableLimit limit(options.run.stop);
    isomer::RuntimeOptions runtime;
    std::unique_ptr<isomer::Judge> judge;
    if (!is_here) {
      const RuntimeRequest wanted = request_of(options.run.runtime);
      runtime = take(runtime_options(wanted));
      WorkerOptions worker = worker_options(wanted, options.run.runtime.name);
      worker.limit = limit.limit();
      judge = limit.take(isomer::Judge::start(worker));
    }
    const RunnableFile file_a(first, options.run.scratch), file_b(second, options.run.scratch);
    CompareRequest request{.a = {first.model, file_a.source(), judge.get(), runtime},
                           .b = {second.model, file_b.source(), judge.get(), runtime},
                           .feeds = feeds.tensors,
                           .tolerance = options.tolerance,
                           .outputs_only = options.outputs_only,
                           .scratch = scratch_name(options.run.scratch)};
    if (options.run.progress) request.progress = [&](const std::string& now) { options.run.progress(now); };
    const ComparedModels found = limit.take(compare_models(request));
    Comparison out{
        .differ = found.differ(),
        .json = json_text(to_json(found, is_here ? "reference" : options.run.runtime.name, feeds.words))};
    for (const ComparedValue& v : found.outputs)
      out.outputs.push_back({.a = v.a,
                             .b = v.b,
                             .misfit = v.difference.misfit,
                             .differing = v.difference.differing,
                             .elements = v.difference.of,
                             .largest_absolute = v.difference.largest_absolute,
                             .largest_relative = v.difference.largest_relative,
                             .of_scale = v.difference.of_scale});
    return out;
  });
}

}  // namespace isomer::api
