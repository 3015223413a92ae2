// A model at one size: another model, equal to the file's at that size.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/onnx/model.h"

namespace isomer {

struct SizedModel {
  Model model;
  std::vector<std::string> sizes;  // as for `isomer check --shape`: "x=1x3x224x224"
};

// The file that the graph was read from, at these sizes ("batch=8"). assumes: others are chosen so that they
// fit the model (find_inputs.h); otherwise they stay open.
Result<SizedModel> read_at_sizes(const std::filesystem::path& file, const Graph& graph,
                                 const std::vector<std::string>& sizes, bool assumes);

}  // namespace isomer
