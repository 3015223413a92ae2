#include "runtime/engines/engines.h"

#include <algorithm>
#include <array>

#include "runtime/engines/openvino.h"
#include "runtime/engines/ort.h"

namespace isomer {
namespace {

constexpr std::array kEngines = {
    Engine{{"ISOMER_ORT_LIBRARY", "onnxruntime", "capi", "libonnxruntime.so", "libonnxruntime.so.1"},
           "ort",
           "ONNX Runtime",
           open_ort},
    Engine{{"ISOMER_OPENVINO_LIBRARY", "openvino", "libs", "libopenvino_c.so", "libopenvino_c.so"},
           "openvino",
           "OpenVINO",
           open_openvino},
};

}  // namespace

std::span<const Engine> engines() { return kEngines; }

const Engine* engine_named(std::string_view name) {
  const auto found = std::ranges::find(kEngines, name, &Engine::name);
  return found == kEngines.end() ? nullptr : &*found;
}

}  // namespace isomer
