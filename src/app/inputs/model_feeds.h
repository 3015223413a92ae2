// Inputs for models: given ones, checked against the model's declarations, or generated ones.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/inputs/find_inputs.h"
#include "base/result.h"
#include "model/graph/graph.h"
#include "model/graph/interpret.h"

namespace isomer {

// Whether they fit the inputs: every input that has no default, no other name, the element type, the rank and
// the extents that the model declares.
Status check_feeds(const NamedTensors& feeds, const Graph& graph);

// The user's settings for inputs.
struct FeedsRequest {
  std::optional<NamedTensors> given = {};
  std::vector<std::string> sizes = {}, values = {};  // of made-up ones: "batch=8", "sr=16000"
  std::uint64_t seed = 0;
  TryInputs run = {};  // find_inputs.h
};

// Inputs for models that have the same, by name: the given ones, or made-up ones.
struct FeedsForModels {
  NamedTensors tensors;
  std::string words;     // "x 1x3x224x224 (batch=1 assumed; --shape changes it)"
  bool is_open = false;  // sizes or values were chosen here
  // The shapes as --shape takes them: "x=1x3x224x224".
  std::vector<std::string> shapes() const;
};
Result<FeedsForModels> feeds_for(const std::vector<const Graph*>& graphs, const FeedsRequest& request);
// The same with those of an npz file (--feeds).
Result<FeedsForModels> feeds_from_file(const std::vector<const Graph*>& graphs,
                                       const std::filesystem::path& file, FeedsRequest request);

}  // namespace isomer
