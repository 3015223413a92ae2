// Any bytes that are a model: its shapes are inferred and each node has a formula or a reason, never a crash.
#include <cstddef>
#include <cstdint>

#include "io/onnx/read.h"
#include "model/graph/infer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto model =
      isomer::read_model_bytes({reinterpret_cast<const std::byte*>(data), size}, "/nonexistent");
  if (!model.ok()) return 0;
  const auto inference = isomer::infer(model->graph);
  if (!inference.ok()) return 0;
  for (const isomer::NodeId node : model->graph.order()) isomer::define_node(model->graph, *inference, node);
  return 0;
}
