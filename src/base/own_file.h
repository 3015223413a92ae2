// The file that this code is linked into: the program, or libisomer.so.
#pragma once

#include <filesystem>

namespace isomer {

// The file of the running program; "" if unknown.
std::filesystem::path own_file();

}  // namespace isomer
