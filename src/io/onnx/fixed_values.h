// Inputs at one value, as a user writes it: "sr=16000" makes a constant of the input sr, all of whose
// elements are 16000. It is then another model, without that input, equal to the file's at that value.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "io/onnx/model.h"

namespace isomer {

using FixedValues = std::map<std::string, double, std::less<>>;

// Error: a text that is none, or no input of that name in any of the models.
Result<FixedValues> parse_values(const std::vector<std::string>& arguments,
                                 const std::vector<const Graph*>& graphs);

// Error: an input of an open size, or whose type can't hold the number.
Result<Model> read_model_at(const std::filesystem::path& path, const InferOptions& sizes,
                            const FixedValues& values);

}  // namespace isomer
