#include "io/onnx/choose_by_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <set>

#include "io/onnx/write_file.h"
#include "onnx/onnx-ml.pb.h"

namespace isomer {
namespace {

using Names = std::set<std::string, std::less<>>;

Result<onnx::ModelProto> parse_file(const std::filesystem::path& path) {
  onnx::ModelProto model;
  std::ifstream in(path, std::ios::binary);
  if (!in || !model.ParseFromIstream(&in)) return Error{fmt::format("can't read {}", path.string())};
  for (const onnx::TensorProto& tensor : model.graph().initializer())
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
      return Error{"its weights are in files of their own, and can't be in the branches of an If"};
  return model;
}

template <class Field, class Drop>
void remove_if(Field& field, const Drop& drop) {
  Field kept;
  for (auto& item : field)
    if (!drop(item)) kept.Add()->Swap(&item);
  field.Swap(&kept);
}

void add_names(const onnx::GraphProto& graph, Names& names) {
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& initializer : graph.initializer()) names.insert(initializer.name());
  for (const auto& node : graph.node()) names.insert(node.output().begin(), node.output().end());
}

// The graph without its inputs, which it then reads from around it, as it does constants that a caller may
// override.
onnx::GraphProto branch_of(const onnx::GraphProto& graph, const Names& outer) {
  onnx::GraphProto out = graph;
  out.clear_input();
  remove_if(*out.mutable_initializer(), [&](const auto& i) { return outer.contains(i.name()); });
  Names made;
  for (const onnx::NodeProto& node : out.node()) made.insert(node.output().begin(), node.output().end());
  for (onnx::ValueInfoProto& output : *out.mutable_output()) {
    if (made.contains(output.name())) continue;
    onnx::NodeProto& copy = *out.add_node();  // a branch gives back only what its nodes make
    copy.set_op_type("Identity");
    copy.add_input(output.name());
    output.set_name(output.name() + "/given");
    copy.add_output(output.name());
  }
  return out;
}

// The node that says which case a call is; names of its outputs.
std::vector<std::string> add_choice(onnx::GraphProto& graph, const SizeChoice& choice,
                                    const std::string& prefix, const std::string& sizes) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(choice.op);
  node.set_domain(choice.domain);
  node.set_name(prefix + "choice");
  for (const std::string& input : choice.inputs) node.add_input(input);
  for (std::size_t k = 0; k < choice.cases.size(); ++k) node.add_output(fmt::format("{}{}", prefix, k));
  if (choice.has_sizes) node.add_output(sizes.empty() ? prefix + "sizes" : sizes);
  return {node.output().begin(), node.output().end()};
}

void set_branch(onnx::NodeProto& node, const char* name, onnx::GraphProto&& graph) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = std::move(graph);
  // ONNX Runtime warns of an output that has another shape than a model declares, and fails where a branch
  // declares it.
  for (onnx::ValueInfoProto& output : *attribute.mutable_g()->mutable_output())
    if (output.type().has_tensor_type()) output.mutable_type()->mutable_tensor_type()->clear_shape();
}

void add_if(onnx::GraphProto& graph, const std::string& condition, onnx::GraphProto&& then_branch,
            onnx::GraphProto&& else_branch) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("If");
  node.set_name(condition + " taken");
  node.add_input(condition);
  for (const onnx::ValueInfoProto& output : graph.output()) node.add_output(output.name());
  set_branch(node, "then_branch", std::move(then_branch));
  set_branch(node, "else_branch", std::move(else_branch));
}

// Whether a model may have nodes of this domain; those inside of its nodes are not looked at.
bool uses(const onnx::ModelProto& model, const std::string& domain) {
  return std::ranges::any_of(model.graph().node(), [&](const onnx::NodeProto& node) {
    return node.domain() == domain ||
           std::ranges::any_of(node.attribute(), [](const auto& a) { return a.has_g(); });
  });
}

Status add_opsets(onnx::ModelProto& to, const onnx::ModelProto& from) {
  for (const onnx::OperatorSetIdProto& wanted : from.opset_import()) {
    if (!uses(from, wanted.domain())) continue;
    const auto known = std::ranges::find_if(
        to.opset_import(), [&](const auto& have) { return have.domain() == wanted.domain(); });
    if (known == to.opset_import().end()) *to.add_opset_import() = wanted;
    else if (known->version() != wanted.version())
      return Error{fmt::format("operator sets {} and {} in one model", known->version(), wanted.version())};
  }
  to.set_ir_version(std::max(to.ir_version(), from.ir_version()));
  return Done{};
}

// The graph around the branches: its inputs and outputs.
onnx::GraphProto frame_of(const onnx::GraphProto& graph, const Names& outer) {
  onnx::GraphProto out = graph;
  for (auto clear :
       {&onnx::GraphProto::clear_node, &onnx::GraphProto::clear_value_info,
        &onnx::GraphProto::clear_sparse_initializer, &onnx::GraphProto::clear_quantization_annotation})
    (out.*clear)();
  remove_if(*out.mutable_initializer(), [&](const auto& i) { return !outer.contains(i.name()); });
  return out;
}

struct Case {
  std::size_t number = 0;
  onnx::ModelProto model;
};

// The input that the last case has besides those of the model.
std::string sizes_of(const std::vector<Case>& cases, const Names& outer) {
  if (!cases.empty())
    for (const auto& input : cases.back().model.graph().input())
      if (!outer.contains(input.name())) return input.name();
  return "";
}

}  // namespace

Status write_choice(const std::filesystem::path& otherwise, const SizeChoice& choice,
                    const std::filesystem::path& out) {
  ISOMER_TRY(onnx::ModelProto model, parse_file(otherwise));
  Names outer, names;
  for (const auto& input : model.graph().input()) outer.insert(input.name());
  add_names(model.graph(), names);
  std::vector<Case> cases;
  for (std::size_t k = 0; k < choice.cases.size(); ++k) {
    if (!choice.cases[k]) continue;
    ISOMER_TRY(onnx::ModelProto one, parse_file(*choice.cases[k]));
    ISOMER_TRY_DO(add_opsets(model, one));
    add_names(one.graph(), names);
    cases.push_back({k, std::move(one)});
  }
  std::string prefix = "size ";
  while (names.lower_bound(prefix) != names.end() && names.lower_bound(prefix)->starts_with(prefix))
    prefix += "_";
  onnx::GraphProto around = frame_of(model.graph(), outer);
  const std::vector<std::string> conditions = add_choice(around, choice, prefix, sizes_of(cases, outer));
  onnx::GraphProto rest = branch_of(model.graph(), outer);
  rest.set_name("other sizes");
  for (std::size_t k = cases.size(); k-- > 0;) {
    onnx::GraphProto frame = around;
    if (k > 0) {
      frame.Clear();
      *frame.mutable_output() = around.output();
      frame.set_name(fmt::format("not size {}", cases[k - 1].number));
    }
    onnx::GraphProto taken = branch_of(cases[k].model.graph(), outer);
    taken.set_name(fmt::format("size {}", cases[k].number));
    add_if(frame, conditions[cases[k].number], std::move(taken), std::move(rest));
    rest = std::move(frame);
  }
  *model.mutable_graph() = std::move(rest);
  if (model.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    return Error{"the model would have more than 2 GB"};
  return wire::write_text(out, model.SerializeAsString());
}

}  // namespace isomer
