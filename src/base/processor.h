// The features of this processor for code that is compiled for it.
#pragma once

#include <string>

namespace isomer {

// Its vector instructions and other features, as /proc/cpuinfo names them; "": unknown.
std::string processor_features();

}  // namespace isomer
