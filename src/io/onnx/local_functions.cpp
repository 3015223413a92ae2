#include "io/onnx/local_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "io/onnx/program.h"
#include "io/onnx/read_wire.h"
#include "io/onnx/shell.h"
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

bool have_one_shape(const onnx::TypeProto& a, const onnx::TypeProto& b) {
  const auto &x = a.tensor_type().shape().dim(), &y = b.tensor_type().shape().dim();
  return std::ranges::equal(x, y, [](const auto& m, const auto& n) {
    return m.dim_value() == n.dim_value() && m.dim_param() == n.dim_param();
  });
}

// An input for which the file has another shape than the original keeps that one.
template <class Values>
void copy_declarations(Values& values, const Values& original) {
  for (onnx::ValueInfoProto& value : values)
    for (const onnx::ValueInfoProto& from : original)
      if (from.name() == value.name() && have_one_shape(from.type(), value.type())) value = from;
}

void copy_words(onnx::ModelProto& model, const ModelShell& original) {
  const onnx::ModelProto& head = *original.head;
  model.clear_producer_name();
  const std::int64_t ir_version = model.ir_version();
  model.MergeFrom(head);
  model.set_ir_version(ir_version);
  std::set<std::string> known;
  for (const auto& entry : model.metadata_props()) known.insert(entry.key());
  for (const auto& entry : original.tail->metadata_props())
    if (!known.contains(entry.key())) *model.add_metadata_props() = entry;
  onnx::GraphProto& graph = *model.mutable_graph();
  if (original.bulk->has_name()) graph.set_name(original.bulk->name());
  if (original.graph->has_doc_string()) graph.set_doc_string(original.graph->doc_string());
  if (graph.metadata_props().empty()) *graph.mutable_metadata_props() = original.graph->metadata_props();
  copy_declarations(*graph.mutable_input(), original.graph->input());
  copy_declarations(*graph.mutable_output(), original.graph->output());
}

}  // namespace

Status add_functions(const std::filesystem::path& path, const std::vector<LocalFunction>& functions,
                     const Model& original) {
  onnx::ModelProto model;
  std::ifstream in(path, std::ios::binary);
  if (!in || !model.ParseFromIstream(&in)) return Error{fmt::format("can't read {}", path.string())};
  if (original.shell) copy_words(model, *original.shell);
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
