// A C++ compiler of this machine, as a process.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace isomer {

// $CXX, else clang++ or g++ where one is found in $PATH, the newest first; "": there is none.
std::string find_compiler();

// Runs it with these arguments; the error is what it said.
Status run_compiler(const std::string& compiler, const std::vector<std::string>& arguments);

}  // namespace isomer
