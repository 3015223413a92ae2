#include "app/report/profile.h"

#include <nlohmann/json.hpp>

#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "app/api/report_json.h"
#include "app/api/stoppable_limit.h"

namespace isomer::api {

Profile profile(const Model& model, const ProfileOptions& options) {
  return guarded([&] {
    const Model::State& state = model.state();
    check_file(state);
    const StoppableLimit limit(options.run.stop);
    const RuntimeRequest runtime = request_of(options.run.runtime);
    const FeedsForModels feeds = feeds_of(options.inputs, options.run, {model});
    WorkerOptions worker = worker_options(runtime, options.run.runtime.name);
    worker.limit = limit.limit();
    const auto judge = limit.take(isomer::Judge::start(worker));
    const SharedFeeds shared = limit.take(SharedFeeds::make(feeds.tensors));
    const isomer::Profile made = limit.take(profile_of(
        *judge, state.model, shared, take(runtime_options(runtime)), scratch_name(options.run.scratch)));
    return Profile{.node_data = json_text(node_data(state.model.graph, made)),
                   .trace = json_text(trace_events(state.model.graph, made))};
  });
}

}  // namespace isomer::api
