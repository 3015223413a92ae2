// Any bytes: a model or a rejection, never a crash. External data is searched in a directory that does not
// exist.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "io/onnx/read.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto model =
      isomer::read_model_bytes({reinterpret_cast<const std::byte*>(data), size}, "/nonexistent");
  if (!model.ok() && model.error().message.empty()) std::abort();
  return 0;
}
