// The CPU time of this process, all of its threads together.
#pragma once

#include <ctime>

namespace isomer {

inline double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace isomer
