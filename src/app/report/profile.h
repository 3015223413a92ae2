// A model's profile on a runtime, for other viewers: the time of each node for Model Explorer
// (github.com/google-ai-edge/model-explorer, "custom node data"), and the kernels of a run, in sequence, as
// trace events for ui.perfetto.dev and chrome://tracing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/report/node_times.h"

namespace isomer {

struct Profile {
  std::vector<KernelKind> kernels;  // of the marked graph
  NodeTimes times;
  std::string runtime;  // with its version, for people
};

Outcome<Profile> profile_of(Judge& judge, const Model& model, const SharedFeeds& feeds,
                            const RuntimeOptions& options, const std::filesystem::path& scratch);

// By the names that its ONNX adapter gives to nodes: their own, or "node", "node_1", ... where they have
// none; a name that was there before gets a number, too.
nlohmann::ordered_json node_data(const Graph& graph, const Profile& profile);

nlohmann::ordered_json trace_events(const Graph& graph, const Profile& profile);

}  // namespace isomer
