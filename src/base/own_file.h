// What this code was linked into: the program, or libisomer.so.
#pragma once

#include <filesystem>

namespace isomer {

// Its file; "" where nobody knows.
std::filesystem::path own_file();

}  // namespace isomer
