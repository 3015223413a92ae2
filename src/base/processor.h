// What this processor offers to code that is compiled for it.
#pragma once

#include <string>

namespace isomer {

// Its vector instructions and the like, in the words of /proc/cpuinfo; "": not known.
std::string processor_features();

}  // namespace isomer
