// Is this node one that its operator allows? Checks names, number of inputs and outputs, attributes and their
// types, and the requirements of If, Loop, Scan and SequenceMap on their bodies. Types and shapes are
// model/graph/infer's business.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/result.h"
#include "model/graph/graph.h"
#include "onnx/onnx-ml.pb.h"

namespace isomer::wire {

// Imports of a model or of a function: known versions, none twice.
Result<Opsets> read_opsets(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports);

// Where a node stands: what its operator's name means, and whether attributes may refer to those of a
// function.
struct NodeContext {
  const Opsets& opsets;
  const std::map<FunctionName, const onnx::FunctionProto*>& functions;
  bool is_in_function = false;
};

FunctionName called_name(const onnx::NodeProto& node);

Status check_node(const onnx::NodeProto& node, const NodeContext& context);

}  // namespace isomer::wire
