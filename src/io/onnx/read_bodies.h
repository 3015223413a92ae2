// The subgraphs in a node's attributes, and the requirements of control-flow operators on them.
#pragma once

#include <vector>

#include "base/result.h"
#include "model/ops/schemas.h"
#include "onnx/onnx-ml.pb.h"

namespace isomer::wire {

// In the order of the attributes.
std::vector<const onnx::GraphProto*> bodies_of(const onnx::NodeProto& node);

// As many inputs and outputs as If, Loop, Scan and SequenceMap pass to their bodies and take from them.
Status check_bodies(const onnx::NodeProto& node, const Schema& schema);

}  // namespace isomer::wire
