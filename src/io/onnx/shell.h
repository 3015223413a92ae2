// ModelShell: the messages that a model was parsed into, kept so that writing it back loses nothing.
//
// The main graph's nodes and initializers are apart from the rest, so that the rest can be written as it is
// while these follow the Graph. Nodes and initializers that the Graph still has, unchanged, are written as
// the file had them.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "io/onnx/descriptor.h"
#include "io/onnx/model.h"
#include "io/onnx/read_external.h"
#include "io/onnx/read_wire.h"
#include "onnx/onnx-ml.pb.h"

namespace isomer {

struct ModelShell {
  std::shared_ptr<wire::Arena> arena;  // holds all messages below
  onnx::ModelProto* head = nullptr;    // the fields before the graph, in the order of the wire
  onnx::ModelProto* tail = nullptr;    // those after it
  onnx::GraphProto* graph = nullptr;   // the main graph without the name, nodes and initializers
  onnx::GraphProto* bulk = nullptr;    // its name, nodes and initializers

  // The graph as it was read, and where each of its nodes comes from.
  Graph original;
  std::unordered_map<NodeId, const onnx::NodeProto*> nodes;
  std::unordered_map<NodeId, const onnx::TensorProto*> initializers;
  std::unordered_map<NodeId, const onnx::SparseTensorProto*>
      sparse_initializers;  // as Constant nodes in the Graph

  std::unique_ptr<wire::ExternalFiles> files;
  std::vector<wire::FileIdentity> sources;  // the model file; external files are in `files`
};

}  // namespace isomer
