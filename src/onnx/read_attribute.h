// From AttributeProto to Attribute. What no formula reads stays as the bytes it had, its tensors checked.
#pragma once

#include "base/result.h"
#include "onnx/onnx-ml.pb.h"
#include "onnx/read_tensor.h"
#include "ops/attribute.h"

namespace isomer::wire {

// The node has passed check_node.
Result<Attributes> read_attributes(const onnx::NodeProto& node, const TensorSource& source);

// All tensors that a message holds: one payload each, external data where it may be.
class TensorWalk;
Status check_tensors(const TensorWalk& found, const TensorSource& source);

}  // namespace isomer::wire
