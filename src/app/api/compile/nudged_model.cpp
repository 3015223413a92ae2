#include "app/api/compile/nudged_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "app/api/compile/compile_candidate.h"
#include "app/api/model_state.h"
#include "base/hash.h"
#include "compiler/cover/graph_copy.h"
#include "model/graph/constant.h"
#include "model/graph/infer.h"
#include "model/graph/last_digits.h"

namespace isomer::api {
namespace {

// Units in the last place, at most: what a sum of a few terms is off by.
constexpr std::int64_t kMostUnits = 4;

float nudged(float value, std::uint64_t draw) {
  if (!std::isfinite(value) || value == std::floor(value)) return value;
  const auto units = static_cast<std::int64_t>(draw % (2 * kMostUnits + 1)) - kMostUnits;
  const float target = units > 0 ? HUGE_VALF : -HUGE_VALF;
  for (std::int64_t k = 0; k < std::abs(units); ++k) value = std::nextafter(value, target);
  return value;
}

isomer::Tensor nudged(const isomer::Tensor& tensor, std::uint64_t& state) {
  std::vector<float> values(static_cast<std::size_t>(tensor.count()));
  if (values.empty()) return tensor;
  std::memcpy(values.data(), tensor.bytes().data, values.size() * sizeof(float));
  for (float& v : values) v = nudged(v, state = mix(state));
  return isomer::Tensor::of(isomer::ElementType::Float, tensor.extents(), values);
}

}  // namespace

bool has_jumps(const Graph& graph) {
  const auto inference = infer(graph);
  if (!inference.ok()) return true;
  return std::ranges::any_of(graph.order(), [&](NodeId id) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::Operator || is_constant_node(node)) return false;
    const Definition definition = define_node(graph, *inference, id);
    const auto* formula = std::get_if<Formula>(&definition);
    return formula == nullptr || !is_continuous(*formula, node);
  });
}

Model with_nudged_constants(const Model& model, std::uint64_t seed) {
  isomer::Model out = model.state().model;
  const Graph& graph = model.state().model.graph;
  GraphCopy copy(graph, graph.without_nodes());
  std::uint64_t state = mix(seed);
  for (const NodeId id : graph.order()) {
    const auto tensor = known_constant(graph, {id, 0});
    if (!tensor || tensor->type() != isomer::ElementType::Float) {
      copy.copy(id);
      continue;
    }
    Node node;
    node.kind = NodeKind::Initializer;
    node.outputs = {graph.name_of({id, 0})};
    node.tensor = nudged(*tensor, state);
    copy.set({id, 0}, {copy.add(std::move(node)), 0});
  }
  out.graph = copy.finish();
  return to_public(std::move(out));
}

}  // namespace isomer::api
