// One file with several models that compute the same at some sizes: an operator reads the shapes of a call
// and selects the one that runs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace isomer {

struct SizeChoice {
  std::string domain, op;           // of the operator; its outputs: a bool for each case, then the sizes
  std::vector<std::string> inputs;  // that it looks at
  // Files of models with inputs and outputs of the same names; nullopt: this case is not taken. The last one
  // may have one input more: the sizes of the call.
  std::vector<std::optional<std::filesystem::path>> cases = {};
  bool has_sizes = false;
};

// Writes a model that runs the first case that a call is, else `otherwise`, by nested `If`s. Error: weights
// in files of their own, operator sets that differ, or a file of more than 2 GB.
Status write_choice(const std::filesystem::path& otherwise, const SizeChoice& choice,
                    const std::filesystem::path& out);

}  // namespace isomer
