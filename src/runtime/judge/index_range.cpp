// The uses of an integer input's values: token ids into an embedding, positions into a table.
#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/judge/carried_values.h"
#include "runtime/judge/feeds.h"

namespace isomer {
namespace {

// Operators whose output holds values of their first input, and no others.
constexpr std::array<std::string_view, 10> kCarriers = {
    "Cast", "Identity", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Transpose", "Slice", "Expand", "Tile"};

std::optional<std::int64_t> extent_of(const Inference& inference, Value value, std::int64_t axis) {
  const auto& shape = inference.of(value).shape;
  if (!shape || shape->empty()) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(shape->size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return std::nullopt;
  return (*shape)[static_cast<std::size_t>(axis)].value();
}

std::int64_t axis_of(const Node& node) {
  const auto* axis = node.attributes.find_as<std::int64_t>("axis");
  return axis ? *axis : 0;
}

// The range that the value indexes as an input of the node; nullopt if it doesn't.
std::optional<std::int64_t> indexed_by(const Inference& inference, const Node& node, Value value) {
  const auto is_input = [&](std::size_t i) { return node.inputs.size() > i && node.inputs[i] == value; };
  if (node.domain.empty() && is_input(1)) {
    if (node.op == "Gather" || node.op == "GatherElements")
      return extent_of(inference, node.inputs[0], axis_of(node));
    if (node.op == "GatherND") {
      std::optional<std::int64_t> least;
      const auto& shape = inference.of(node.inputs[0]).shape;
      for (const Dim& dim : shape.value_or(Dims{}))
        if (dim.is_concrete()) least = std::min(least.value_or(dim.concrete()), dim.concrete());
      return least;
    }
  }
  // The fused embedding of ONNX Runtime: ids and segments, each into its own table.
  if (node.domain == "com.microsoft" && node.op == "EmbedLayerNormalization")
    for (const auto& [ids, table] : {std::pair{0u, 2u}, std::pair{1u, 4u}})
      if (is_input(ids) && node.inputs.size() > table) return extent_of(inference, node.inputs[table], 0);
  return std::nullopt;
}

}  // namespace

std::int64_t indexed_extent(const Graph& graph, const Inference& inference, Value input) {
  std::int64_t least = 0;
  visit_readers(graph, input, kCarriers, [&](const Node& node, Value value) {
    if (const auto extent = indexed_by(inference, node, value); extent && *extent > 0)
      least = least == 0 ? *extent : std::min(least, *extent);
  });
  return least;
}

}  // namespace isomer
