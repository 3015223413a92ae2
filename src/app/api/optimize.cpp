#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "app/api/optimize_run.h"
#include "app/optimize/proposer_names.h"
#include "isomer/isomer.h"

namespace isomer::api {

std::vector<std::string> proposers() {
  return guarded([] { return proposer_names(); });
}

Optimized optimize(const Model& model, const OptimizeOptions& options) {
  return guarded([&] {
    OptimizeRun run(options);
    const Model::State& state = model.state();
    run.prepare(model, options.inputs.sizes);
    const RunnableFile in(state, options.run.scratch);
    return run.to_public(model, run.find(state, in.path(), scratch_name(options.run.scratch)));
  });
}

}  // namespace isomer::api
