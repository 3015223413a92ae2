// From Graph back to messages: what the file had where nothing changed, new messages where something did.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/onnx/model.h"
#include "io/onnx/shell.h"
#include "onnx/onnx-ml.pb.h"

namespace isomer::wire {

// An initializer as it is written: a message, and after it raw data that is in no message.
struct InitializerOut {
  const onnx::TensorProto* proto = nullptr;
  Bytes raw = {};  // of a new tensor; null if the message is complete
};

// A model as it is written. Messages are the shell's own or live in the arena; those are the ones that may be
// changed.
struct ModelOut {
  Arena arena;
  const onnx::ModelProto* head = nullptr;
  const onnx::ModelProto* tail = nullptr;
  onnx::GraphProto* rest = nullptr;  // the graph but for name, nodes and initializers
  std::optional<std::string> name;
  std::vector<const onnx::NodeProto*> nodes;
  std::vector<InitializerOut> initializers;
  std::vector<onnx::TensorProto*>
      external;                      // tensors whose entries still name the files that they were read from
  std::vector<std::size_t> movable;  // new initializers (numbers) that may go to the data file instead
};

// A shell for a graph that was never in a file.
std::shared_ptr<const ModelShell> make_shell(const Model& model);

// The shell is the model's own. Fills everything but the places of external data.
Status fill(ModelOut& out, const Model& model, const ModelShell& shell);

onnx::TensorProto tensor_header(const Tensor& tensor, const std::string& name);
Result<onnx::NodeProto*> make_node(const Graph& graph, const Node& node, Arena& arena);
void write_type(const DeclaredType& type, onnx::TypeProto& proto);

}  // namespace isomer::wire
