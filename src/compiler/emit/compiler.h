// A C++ compiler of this machine, as a process.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/worker/time_limit.h"

namespace isomer {

// $CXX, else clang++ or g++ where one is found in $PATH, the newest first, else that of Zig; "": there is
// none.
std::string find_compiler();
// One that compiles for other machines than this, with all that belongs to them: that of Zig, as a program
// of its own or of the Python package ziglang; "": there is none.
std::string find_cross_compiler();
// The file of the program that such words start; "": it is not found.
std::string program_of(const std::string& compiler);
// The archiver beside this compiler.
std::string archiver_of(const std::string& compiler);

// Runs it with these arguments; the error is what it said. Words of `compiler` that follow the program are
// arguments, too. When the limit is over, it is ended with all that it started, which is an error.
Status run_compiler(const std::string& compiler, const std::vector<std::string>& arguments,
                    const TimeLimit* limit = nullptr);

}  // namespace isomer
