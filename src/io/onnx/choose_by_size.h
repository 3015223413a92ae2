// One file of several models that compute the same at some sizes: the sizes of a call decide which of them
// runs.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/expr/tensor.h"

namespace isomer {

// A model for one size, with inputs and outputs of the same names.
struct SizedFile {
  std::filesystem::path file;
  std::map<std::string, Extents> shapes;  // of the inputs whose sizes decide
};

// Writes a model that runs the first of `cases` whose shapes its inputs have, else `otherwise`, by nested
// `If`s. Error: weights in files of their own, operator sets that differ, or a file of more than 2 GB.
Status write_choice(const std::filesystem::path& otherwise, const std::vector<SizedFile>& cases,
                    const std::filesystem::path& out);

}  // namespace isomer
