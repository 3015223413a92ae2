// From AttributeProto to Attribute. Kinds that no formula reads keep their bytes; their tensors are checked.
#pragma once

#include "base/result.h"
#include "io/onnx/read_tensor.h"
#include "model/graph/graph.h"
#include "model/ops/shared/attribute.h"
#include "onnx/onnx-ml.pb.h"

namespace isomer::wire {

// The node has passed check_node.
Result<Attributes> read_attributes(const onnx::NodeProto& node, const TensorSource& source);

// The attribute as the bytes that it had, with what its tensors have in other files.
Result<RawAttribute> raw_attribute(const onnx::AttributeProto& attribute, const TensorSource& source);

// The type and shape that a Constant node with a sparse tensor says itself; nothing for other nodes.
DeclaredType sparse_constant_type(const onnx::NodeProto& node);
DeclaredType type_of(const onnx::SparseTensorProto& tensor);

// All tensors that a message holds: one payload each, external data where it may be.
class TensorWalk;
Status check_tensors(const TensorWalk& found, const TensorSource& source);

// Tensors whose elements are in other files, in their order.
Result<std::vector<Tensor>> external_tensors(const TensorWalk& found, const TensorSource& source);

}  // namespace isomer::wire
