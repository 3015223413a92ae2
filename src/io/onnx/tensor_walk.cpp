#include "io/onnx/tensor_walk.h"

namespace isomer::wire {

void TensorWalk::add(const onnx::TensorProto& tensor) { tensors.push_back(&tensor); }

void TensorWalk::add(const onnx::SparseTensorProto& tensor) {
  sparse.push_back(&tensor);
  if (tensor.has_values()) tensors.push_back(&tensor.values());
  if (tensor.has_indices()) tensors.push_back(&tensor.indices());
}

void TensorWalk::collect(const onnx::AttributeProto& a) {
  if (a.has_t()) add(a.t());
  if (a.has_sparse_tensor()) add(a.sparse_tensor());
  if (a.has_g()) pending_.push_back(&a.g());
  for (const auto& tensor : a.tensors()) add(tensor);
  for (const auto& tensor : a.sparse_tensors()) add(tensor);
  for (const auto& graph : a.graphs()) pending_.push_back(&graph);
}

void TensorWalk::drain() {
  while (!pending_.empty()) {
    const onnx::GraphProto& graph = *pending_.back();
    pending_.pop_back();
    for (const auto& tensor : graph.initializer()) add(tensor);
    for (const auto& tensor : graph.sparse_initializer()) add(tensor);
    for (const auto& node : graph.node()) {
      for (const auto& attribute : node.attribute()) collect(attribute);
    }
  }
}

void TensorWalk::add(const onnx::AttributeProto& attribute) {
  collect(attribute);
  drain();
}

void TensorWalk::add(const onnx::NodeProto& node) {
  for (const auto& attribute : node.attribute()) collect(attribute);
  drain();
}

void TensorWalk::add(const onnx::GraphProto& graph) {
  pending_.push_back(&graph);
  drain();
}

void TensorWalk::add(const onnx::FunctionProto& function) {
  for (const auto& attribute : function.attribute_proto()) collect(attribute);
  for (const auto& node : function.node()) {
    for (const auto& attribute : node.attribute()) collect(attribute);
  }
  drain();
}

void TensorWalk::add(const onnx::ModelProto& model) {
  if (model.has_graph()) add(model.graph());
  for (const auto& function : model.functions()) add(function);
  for (const auto& training : model.training_info()) {
    if (training.has_initialization()) add(training.initialization());
    if (training.has_algorithm()) add(training.algorithm());
  }
}

}  // namespace isomer::wire
