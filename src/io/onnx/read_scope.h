// Names: every value is defined once and before it is read, in the main graph, in bodies of any depth, in
// functions.
//
// A walk over all nodes, with an explicit stack instead of recursion. On the way every node is checked
// against its operator, and the outer values that the bodies of a top-level node read are recorded: its
// captures.
#pragma once

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/onnx/read_node.h"
#include "onnx/onnx-ml.pb.h"

namespace isomer::wire {

// Per node of the main graph, the names of the graph's own values that its bodies read; only nodes that have
// any.
using Captures = std::map<int, std::set<std::string_view>>;

Result<Captures> check_graph_names(const onnx::GraphProto& graph, const NodeContext& context);
Status check_function_names(const onnx::FunctionProto& function, const NodeContext& context);

}  // namespace isomer::wire
