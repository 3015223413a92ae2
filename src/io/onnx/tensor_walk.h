// Every tensor inside a message, however deep in bodies, functions and training graphs: the reader checks
// them, the writer moves their external data.
#pragma once

#include <string>
#include <vector>

#include "onnx/onnx-ml.pb.h"

namespace isomer::wire {

class TensorWalk {
 public:
  std::vector<const onnx::TensorProto*> tensors;  // those that make up sparse tensors too
  std::vector<const onnx::SparseTensorProto*> sparse;

  void add(const onnx::TensorProto& tensor);
  void add(const onnx::SparseTensorProto& tensor);
  void add(const onnx::AttributeProto& attribute);
  void add(const onnx::NodeProto& node);
  void add(const onnx::GraphProto& graph);
  void add(const onnx::FunctionProto& function);
  void add(const onnx::ModelProto& model);  // the main graph, functions, training information

 private:
  void collect(const onnx::AttributeProto& attribute);
  void drain();
  std::vector<const onnx::GraphProto*> pending_;
};

// The message's content apart from its tensors' elements and their files.
template <class Message>
std::string bytes_without_places(const Message& message) {
  Message copy = message;  // NOLINT(performance-unnecessary-copy-initialization): changed below
  TensorWalk inside;
  inside.add(copy);
  for (const onnx::TensorProto* tensor : inside.tensors)
    const_cast<onnx::TensorProto*>(tensor)->clear_external_data();  // safe: the tensor is part of `copy`
  return copy.SerializeAsString();
}

}  // namespace isomer::wire
