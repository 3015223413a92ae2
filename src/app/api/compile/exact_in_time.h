// Evaluates a model in float64, within a time limit. Internal to compile.cpp.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "model/graph/graph.h"
#include "model/graph/interpret.h"

namespace isomer::api {

// As exact_outputs (runtime/judge/errors.h), in a process of its own, which can be ended: what a node costs
// is estimated, and no estimate is always right. nullopt: also where it takes longer than this, or is
// stopped. `file`: where that process puts its answer.
std::optional<NamedTensors> exact_outputs_within(const Graph& graph, const NamedTensors& feeds,
                                                 double most_operations, double seconds,
                                                 const std::function<bool()>& is_stopped,
                                                 const std::filesystem::path& file);

}  // namespace isomer::api
