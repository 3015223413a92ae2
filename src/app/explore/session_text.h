// Options of a session of ONNX Runtime as its user writes them: to paste.
#pragma once

#include <string>

#include "runtime/engines/runtime.h"

namespace isomer {

// Lines that make `options` of an onnxruntime.SessionOptions(); the number of threads is the user's.
std::string python_text(const RuntimeOptions& options);
// Lines that make `options` of an Ort::SessionOptions.
std::string cpp_text(const RuntimeOptions& options);

std::string_view text(OptimizationLevel level);  // "none", "basic", "extended", "all"

}  // namespace isomer
