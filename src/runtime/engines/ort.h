// ONNX Runtime as a Runtime.
#pragma once

#include "runtime/engines/runtime.h"

namespace isomer {

Outcome<std::unique_ptr<Runtime>> open_ort(const std::string& library);

}  // namespace isomer
