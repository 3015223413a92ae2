// Inputs for models: given ones, checked against what the models declare, or made-up ones.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/graph/graph.h"
#include "model/graph/interpret.h"

namespace isomer {

// Whether they fit the inputs: every input that has no default, no other name, the element type, the rank and
// the extents that the model declares.
Status check_feeds(const NamedTensors& feeds, const Graph& graph);

// Inputs for models that have the same, by name: the given ones, or made-up ones at these sizes ("batch=8").
struct FeedsForModels {
  NamedTensors tensors;
  std::string words;  // "x 1x3x224x224 (batch=1 was assumed; --shape says otherwise)"
};
Result<FeedsForModels> feeds_for(const std::vector<const Graph*>& graphs,
                                 const std::optional<NamedTensors>& given,
                                 const std::vector<std::string>& sizes, std::uint64_t seed);
// The same with those of an npz file (--feeds).
Result<FeedsForModels> feeds_from_file(const std::vector<const Graph*>& graphs,
                                       const std::filesystem::path& file,
                                       const std::vector<std::string>& sizes, std::uint64_t seed);

}  // namespace isomer
