// The graphs that nodes run: bodies of control flow, and functions inlined for a call.
//
// For reasoning only: the writer writes the file's own message. A body that can't be made (too deep, too
// large after inlining, or malformed) is left out, and its node is opaque.
#pragma once

#include "io/onnx/read_functions.h"
#include "io/onnx/read_node.h"
#include "io/onnx/read_tensor.h"

namespace isomer::wire {

// The context for reading bodies.
struct BodyContext {
  const Functions& functions;
  const CopyOnWrite<FunctionDigests>& digests;  // of the same
  const TensorSource& source;
  std::int64_t& nodes_left;  // that calls of functions may still be written out to
};
// A function calls functions: a file of a kilobyte can stand for more nodes than there is memory for.
constexpr std::int64_t kMostWrittenOut = 20'000;

// Gives a node its bodies. `outer` answers for a name of the graph that the node is in; what bodies capture
// is added to the node's captures.
void read_bodies(Node& node, const onnx::NodeProto& proto, const Opsets& opsets, const BodyContext& context,
                 const std::function<Value(std::string_view)>& outer, int depth = 0);

}  // namespace isomer::wire
