// The inputs and answers of the lines of opaque_outputs.h.
#pragma once

#include <string_view>
#include <vector>

#include "model/graph/infer.h"
#include "model/graph/symbols.h"

namespace isomer {

// A node and the known facts about its inputs.
struct OpaqueSite {
  const Graph& graph;
  const Inference& inference;
  Symbols& symbols;
  const Node& node;

  bool has(std::size_t k) const {
    return k < node.inputs.size() && inference.of(node.inputs[k]).shape.has_value();
  }
  const ValueInfo& in(std::size_t k) const { return inference.of(node.inputs[k]); }
  const Dims& shape(std::size_t k) const { return *in(k).shape; }
  std::size_t rank(std::size_t k) const { return shape(k).size(); }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    const auto* value = node.attributes.find_as<std::int64_t>(name);
    return value ? *value : otherwise;
  }
  // An extent that depends on values.
  Dim fresh(std::size_t axis) const { return symbols.fresh(node.outputs[0], axis); }
};

inline ValueInfo info_of(ElementType type, Dims shape) { return {type, std::move(shape), std::nullopt}; }

using OpaqueOutputs = std::vector<ValueInfo>;  // none: nothing is known of them

struct OpaqueLine {
  std::string_view op;
  OpaqueOutputs (*outputs)(const OpaqueSite&);
};

// The shape that an operator of ONNX's gives to some of the inputs, with the attributes that the node has.
std::optional<Dims> shape_as(const OpaqueSite& site, std::string_view op,
                             const std::vector<std::size_t>& inputs);

// Lines for ONNX Runtime's own domain, com.microsoft.
std::optional<OpaqueLine> runtimes_line(std::string_view op);

}  // namespace isomer
