#include "model/graph/purity.h"

#include <algorithm>
#include <array>

#include "model/graph/call.h"
#include "model/graph/constant.h"

namespace isomer {
namespace {

constexpr std::array<std::string_view, 6> kRandom = {"RandomNormal",      "RandomNormalLike", "RandomUniform",
                                                     "RandomUniformLike", "Bernoulli",        "Multinomial"};

// Dropout is the identity except while training. Opset 12 made that an input; from 7 to 11 there is no
// training; before, an attribute said `is_test`.
bool drops(const Graph& graph, const Node& node) {
  const int opset = graph.opset("");
  if (opset >= 12) {
    if (node.inputs.size() < 3 || !node.inputs[2].exists()) return false;
    const auto training = known_constant(graph, node.inputs[2]);
    const auto flags = training ? training->integers() : std::nullopt;
    return !flags || std::ranges::any_of(*flags, [](std::int64_t flag) { return flag != 0; });
  }
  if (opset >= 7) return false;
  const auto* is_test = node.attributes.find_as<std::int64_t>("is_test");
  return is_test == nullptr || *is_test == 0;
}

bool has_subgraph(const Node& node) {
  return std::ranges::any_of(node.attributes.all(), [](const Attribute& a) {
    const auto* raw = std::get_if<RawAttribute>(&a.value);
    return raw != nullptr && raw->is_graph;
  });
}

}  // namespace

Purity purity(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::Operator) return Purity::Function;
  if (graph.is_call(node) || has_subgraph(node)) return Purity::Unknown;
  if (node.domain.empty()) {
    if (std::ranges::find(kRandom, node.op) != kRandom.end()) return Purity::Random;
    return node.op == "Dropout" && drops(graph, node) ? Purity::Random : Purity::Function;
  }
  if (node.domain == "ai.onnx.ml") return Purity::Function;
  return find_operator(graph, node) != nullptr ? Purity::Function : Purity::Unknown;
}

}  // namespace isomer
