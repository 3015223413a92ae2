#include "io/onnx/local_functions.h"

#include <fmt/format.h>

#include <fstream>
#include <set>

#include "io/onnx/program.h"
#include "io/onnx/read_wire.h"
#include "io/onnx/write_file.h"
#include "onnx/onnx-ml.pb.h"

namespace isomer {
namespace {

constexpr std::int64_t kFirstIrWithFunctions = 8;
constexpr std::int64_t kFirstIrWithoutListedInitializers = 4;

Result<onnx::FunctionProto> function_of(const LocalFunction& function) {
  ISOMER_TRY(const std::string bytes, write_program(function.body));
  onnx::ModelProto program;
  if (!program.ParseFromString(bytes)) return Error{"a function that can't be read again"};
  onnx::FunctionProto out;
  out.set_domain(function.domain);
  out.set_name(function.name);
  for (const std::string& attribute : function.attributes) out.add_attribute(attribute);
  for (const auto& input : program.graph().input()) out.add_input(input.name());
  for (const auto& output : program.graph().output()) out.add_output(output.name());
  for (onnx::TensorProto& tensor : *program.mutable_graph()->mutable_initializer()) {
    onnx::NodeProto& node = *out.add_node();
    node.set_op_type("Constant");
    node.add_output(tensor.name());
    onnx::AttributeProto& value = *node.add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    value.mutable_t()->Swap(&tensor);
  }
  for (onnx::NodeProto& node : *program.mutable_graph()->mutable_node()) out.add_node()->Swap(&node);
  *out.mutable_opset_import() = program.opset_import();
  return out;
}

// An old file lists all its initializers among the inputs; in a newer one that would mean that a caller may
// give others.
void raise_ir_version(onnx::ModelProto& model) {
  if (model.ir_version() < kFirstIrWithoutListedInitializers) {
    std::set<std::string> constants;
    for (const auto& tensor : model.graph().initializer()) constants.insert(tensor.name());
    auto& inputs = *model.mutable_graph()->mutable_input();
    for (int k = inputs.size(); k-- > 0;)
      if (constants.contains(inputs[k].name())) inputs.DeleteSubrange(k, 1);
  }
  model.set_ir_version(std::max<std::int64_t>(model.ir_version(), kFirstIrWithFunctions));
}

}  // namespace

Status add_functions(const std::filesystem::path& path, const std::vector<LocalFunction>& functions) {
  onnx::ModelProto model;
  std::ifstream in(path, std::ios::binary);
  if (!in || !model.ParseFromIstream(&in)) return Error{fmt::format("can't read {}", path.string())};
  raise_ir_version(model);
  std::uint64_t bytes = model.ByteSizeLong();
  for (const LocalFunction& function : functions) {
    ISOMER_TRY(onnx::FunctionProto made, function_of(function));
    bytes += made.ByteSizeLong();
    if (bytes > wire::kLargestModelBytes)
      return Error{"with the weights of its operators the model would have more than 2 GB"};
    model.add_functions()->Swap(&made);
  }
  return wire::write_text(path, model.SerializeAsString());
}

}  // namespace isomer
