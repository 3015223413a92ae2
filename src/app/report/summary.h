// Summary: the content of `isomer inspect`. Derived from shapes and formulas; no element of a weight is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/onnx/model.h"
#include "model/graph/infer.h"

namespace isomer {

struct InterfaceValue {
  std::string name;
  ElementType type = ElementType::Undefined;
  std::optional<Dims> shape;
};

struct OperatorCount {
  std::string op, domain;
  std::uint64_t count = 0;
  std::uint64_t defined = 0;  // of them, how many have a formula here
  Dim flops;                  // of those
};

struct OpaqueEntry {
  std::string node, op, domain, reason;
  bool on_floats = true;  // counted among float_nodes
};

struct Summary {
  std::int64_t ir = 0;
  std::map<std::string, int, std::less<>> opsets;
  std::uint64_t nodes = 0;
  std::vector<InterfaceValue> inputs, outputs;
  std::vector<OperatorCount> operators;  // most frequent first
  // Nodes with a float input or output; Constant and Identity compute nothing and are left out. A node of
  // whose types nothing is known is counted: coverage is never overstated.
  std::uint64_t float_nodes = 0, float_nodes_defined = 0;
  std::vector<OpaqueEntry> opaque;  // in the order of the graph
  std::optional<Dim> flops;         // of all nodes with a formula; nullopt: more than 64 bits hold
  std::uint64_t weight_bytes = 0;   // of initializers and Constant nodes
};

InterfaceValue describe_value(const Graph& graph, const Inference& inference, Value value);
Result<Summary> summarize(const Model& model, const InferOptions& options);

}  // namespace isomer
