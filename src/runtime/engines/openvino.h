// OpenVINO, on the CPU, as a Runtime.
#pragma once

#include "runtime/engines/runtime.h"

namespace isomer {

Outcome<std::unique_ptr<Runtime>> open_openvino(const std::string& library);

}  // namespace isomer
