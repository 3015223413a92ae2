#include "io/onnx/read_bodies.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "io/onnx/read_text.h"

namespace isomer::wire {
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;

struct Arity {
  std::int64_t inputs = 0, outputs = 0;
};

std::int64_t integer(const NodeProto& node, std::string_view name) {
  for (const AttributeProto& a : node.attribute()) {
    if (a.name() == name) return a.i();
  }
  return 0;
}

// The requirements of the operator's definition on every body of the node.
Result<Arity> expected(const NodeProto& node, const Schema& schema) {
  const Arity own{node.input_size(), node.output_size()};
  if (schema.name == "If") return Arity{0, own.outputs};
  // Trip count and condition become the body's iteration number and condition; its first output is the next
  // condition.
  if (schema.name == "Loop") return Arity{own.inputs, own.outputs + 1};
  if (schema.name == "SequenceMap") return own;
  const bool has_lengths = schema.since == 8;  // Scan's first version begins with optional sequence lengths
  const std::int64_t scanned = integer(node, "num_scan_inputs"), offered = own.inputs - (has_lengths ? 1 : 0);
  if (scanned < 1 || scanned > offered) {
    return fault(node, "num_scan_inputs", fmt::format("is {}, with {} inputs to scan", scanned, offered));
  }
  return Arity{offered, own.outputs};
}

// Before IR 4 an initializer had to be listed among the inputs too; no caller passes it.
std::int64_t passed_inputs(const onnx::GraphProto& body) {
  std::set<std::string_view> initializers;
  for (const auto& tensor : body.initializer()) initializers.insert(tensor.name());
  return std::ranges::count_if(body.input(),
                               [&](const auto& input) { return !initializers.contains(input.name()); });
}

}  // namespace

std::vector<const onnx::GraphProto*> bodies_of(const NodeProto& node) {
  std::vector<const onnx::GraphProto*> bodies;
  for (const AttributeProto& a : node.attribute()) {
    if (a.has_g()) bodies.push_back(&a.g());
    for (const auto& graph : a.graphs()) bodies.push_back(&graph);
  }
  return bodies;
}

Status check_bodies(const NodeProto& node, const Schema& schema) {
  const bool is_control_flow =
      schema.domain.empty() &&
      (schema.name == "If" || schema.name == "Loop" || schema.name == "Scan" || schema.name == "SequenceMap");
  if (!is_control_flow) return Done{};
  ISOMER_TRY(const Arity arity, expected(node, schema));
  for (const AttributeProto& a : node.attribute()) {
    if (!a.has_g()) continue;
    if (a.g().output_size() != arity.outputs) {
      return fault(node, a.name(),
                   fmt::format("has a body of {} outputs where the node needs {}", a.g().output_size(),
                               arity.outputs));
    }
    if (const std::int64_t inputs = passed_inputs(a.g()); inputs != arity.inputs) {
      return fault(node, a.name(),
                   fmt::format("has a body of {} inputs where the node gives it {}", inputs, arity.inputs));
    }
  }
  return Done{};
}

}  // namespace isomer::wire
