#include "model/graph/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "model/ops/own_operators.h"

namespace isomer {
namespace {

constexpr std::array<std::string_view, 4> kControlFlow = {"If", "Loop", "Scan", "SequenceMap"};

}  // namespace

const Operator* find_operator(const Graph& graph, const Node& node) {
  const Operator* op = find_operator(node.domain, node.op);
  return op == nullptr && graph.opsets.own ? graph.opsets.own->find(node.domain, node.op) : op;
}

std::variant<const Operator*, Opaque> operator_of(const Graph& graph, const Node& node) {
  const std::string full_name = node.domain.empty() ? node.op : node.domain + "." + node.op;
  if (graph.is_call(node)) return Opaque{"local function"};
  if (node.domain.empty() && std::ranges::find(kControlFlow, node.op) != kControlFlow.end())
    return Opaque{"control flow"};
  const Operator* op = find_operator(graph, node);
  if (op == nullptr) {
    const bool standard = node.domain.empty() || node.domain == "ai.onnx.ml";
    return Opaque{standard ? "no formula yet for " + full_name : "custom domain " + node.domain};
  }
  const int opset = graph.opset(node.domain);
  if (opset < op->since || opset > op->last)
    return Opaque{fmt::format("{} does not exist in opset {}", full_name, opset)};
  return op;
}

Call call_without_inputs(const Graph& graph, const Node& node) {
  Call call;
  call.opset = graph.opset(node.domain);
  call.attributes = node.attributes;
  call.output_count = static_cast<int>(node.outputs.size());
  while (call.output_count > 0 && node.outputs[static_cast<std::size_t>(call.output_count) - 1].empty())
    --call.output_count;
  return call;
}

Error error_of(const Node& node, const Invalid& invalid) {
  return {fmt::format("{}: {}", label(node), invalid.message), label(node), invalid.attribute};
}

}  // namespace isomer
