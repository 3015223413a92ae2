#include "app/inputs/opened_model.h"

#include "model/graph/infer.h"

namespace isomer {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;  // of all values of one run together

}  // namespace

std::optional<Model> opened_model(const Model& model, const NamedTensors& feeds,
                                  const std::set<std::string>& values) {
  InferOptions sizes;
  for (const auto& [name, tensor] : feeds) sizes.shapes.emplace(name, tensor.extents());
  const auto inference = infer(model.graph, sizes);
  if (!inference.ok()) return std::nullopt;
  Model open = as_model(model.graph);  // of its own: the file's has other outputs
  open.ir_version = model.ir_version;
  const std::set<Value> outputs(model.graph.outputs().begin(), model.graph.outputs().end());
  std::int64_t bytes = 0;
  for (const NodeId id : model.graph.order()) {
    const Node& node = model.graph.node(id);
    if (node.kind != NodeKind::Operator) continue;
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      const ValueInfo& info = inference->of({id, k});
      const auto shape = concrete_shape(info);
      if (!values.contains(node.outputs[k]) || info.type == ElementType::Undefined || !shape ||
          outputs.contains({id, k}))
        continue;
      bytes += static_cast<std::int64_t>(byte_size(info.type, *shape).value_or(kMostBytes));
      if (bytes > kMostBytes) return std::nullopt;
      DeclaredType type;
      type.type = info.type;
      type.shape = std::vector<std::optional<Dim>>(shape->begin(), shape->end());
      open.graph.declare(node.outputs[k], type);
      open.graph.add_output({id, k});
    }
  }
  return open;
}

}  // namespace isomer
