// The processor's time that this process has taken, all of its threads together.
#pragma once

#include <ctime>

namespace isomer {

inline double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace isomer
