#include "io/onnx/read_graph.h"

#include <fmt/format.h>

#include "io/onnx/read_attribute.h"
#include "io/onnx/read_body.h"
#include "io/onnx/read_text.h"
#include "io/onnx/read_type.h"
#include "model/ops/schemas.h"

namespace isomer::wire {
namespace {

// Since IR 4 an initializer that is also an input is that input's default. Before, every initializer had to
// be listed among the inputs, and runtimes take it as a constant all the same.
constexpr std::int64_t kFirstOverridableIr = 4;

class GraphBuilder {
 public:
  GraphBuilder(const onnx::ModelProto& model, const Captures& captures, const Functions& functions,
               const TensorSource& source, ModelShell& shell)
      : proto_(model.graph()),
        ir_version_(model.ir_version()),
        captures_(captures),
        source_(source),
        bodies_{functions, graph.functions, source, nodes_left_},
        shell_(shell) {}

  Status add_inputs();
  Status add_initializers();
  Status add_sparse_initializers();
  Status add_operators();
  Status add_outputs();
  Graph take() { return std::move(graph); }

  Graph graph;

 private:
  Result<Node> read_operator(const onnx::NodeProto& proto, int position) const;
  Value value(std::string_view name) const;

  const onnx::GraphProto& proto_;
  std::int64_t ir_version_;
  const Captures& captures_;
  const TensorSource& source_;
  mutable std::int64_t nodes_left_ = kMostWrittenOut;
  BodyContext bodies_;
  ModelShell& shell_;
  std::map<std::string_view, Value> values_;           // views of names in the messages
  std::map<std::string_view, DeclaredType> defaults_;  // inputs that an initializer stands for
};

Value GraphBuilder::value(std::string_view name) const {
  const auto found = values_.find(name);
  ISOMER_CHECK(found != values_.end(), "check_graph_names lets only defined names pass");
  return found->second;
}

Status GraphBuilder::add_inputs() {
  std::set<std::string_view> initializers;
  for (const auto& tensor : proto_.initializer()) initializers.insert(tensor.name());
  for (const auto& tensor : proto_.sparse_initializer()) initializers.insert(tensor.values().name());
  for (const auto& input : proto_.input()) {
    ISOMER_TRY(DeclaredType type, read_type(input));
    if (initializers.contains(input.name())) {
      defaults_.emplace(input.name(), std::move(type));
      continue;
    }
    Node node;
    node.kind = NodeKind::Input;
    node.outputs = {input.name()};
    node.declared = std::move(type);
    values_.emplace(input.name(), Value{graph.add(std::move(node)), 0});
  }
  return Done{};
}

Status GraphBuilder::add_initializers() {
  for (const auto& proto : proto_.initializer()) {
    ISOMER_TRY(Tensor tensor, read_tensor(proto, source_));
    const auto input = defaults_.find(proto.name());
    const bool is_overridable = input != defaults_.end() && ir_version_ >= kFirstOverridableIr;
    if (input != defaults_.end() && input->second.type != tensor.type()) {
      return Error{fmt::format("graph input {} is declared {} but its initializer is {}", shown(proto.name()),
                               name(input->second.type), name(tensor.type()))};
    }
    Node node;
    node.kind = NodeKind::Initializer;
    node.outputs = {proto.name()};
    node.tensor = std::move(tensor);
    if (is_overridable) node.declared = input->second;
    const NodeId id = graph.add(std::move(node));
    if (is_overridable) graph.mark_overridable(id);
    values_.emplace(proto.name(), Value{id, 0});
    shell_.initializers.emplace(id, &proto);
  }
  return Done{};
}

// A sparse initializer is what a Constant node with `sparse_value` is: a dense value given by its nonzero
// elements.
Status GraphBuilder::add_sparse_initializers() {
  for (const auto& proto : proto_.sparse_initializer()) {
    ISOMER_TRY_DO(check_sparse_tensor(proto, source_));
    const std::string& name = proto.values().name();
    if (defaults_.contains(name))
      return Error{fmt::format("sparse initializer {} is a graph input too", shown(name))};
    onnx::AttributeProto attribute;
    attribute.set_name("sparse_value");
    attribute.set_type(onnx::AttributeProto::SPARSE_TENSOR);
    *attribute.mutable_sparse_tensor() = proto;
    Node node;
    node.op = "Constant";
    node.outputs = {name};
    ISOMER_TRY(RawAttribute raw, raw_attribute(attribute, source_));
    node.attributes.set(attribute.name(), std::move(raw));
    node.declared = type_of(proto);
    graph.declare(name, node.declared);
    const NodeId id = graph.add(std::move(node));
    values_.emplace(name, Value{id, 0});
    shell_.sparse_initializers.emplace(id, &proto);
  }
  return Done{};
}

// The fields of the node that Node does not have, as a message of these alone.
std::string extras_of(const onnx::NodeProto& proto) {
  if (!proto.has_doc_string() && proto.metadata_props_size() == 0 &&
      proto.device_configurations_size() == 0 && proto.unknown_fields().empty()) {
    return {};
  }
  onnx::NodeProto extras;
  if (proto.has_doc_string()) extras.set_doc_string(proto.doc_string());
  *extras.mutable_metadata_props() = proto.metadata_props();
  *extras.mutable_device_configurations() = proto.device_configurations();
  *extras.mutable_unknown_fields() = proto.unknown_fields();
  return extras.SerializeAsString();
}

Result<Node> GraphBuilder::read_operator(const onnx::NodeProto& proto, int position) const {
  Node node;
  node.op = proto.op_type();
  node.domain = normal_domain(proto.domain());
  node.overload = proto.overload();
  node.name = proto.name();
  node.inputs.reserve(static_cast<std::size_t>(proto.input_size()));
  for (const std::string& input : proto.input())
    node.inputs.push_back(input.empty() ? Value::none() : value(input));
  if (const auto captured = captures_.find(position); captured != captures_.end()) {
    for (const std::string_view outer : captured->second) node.captures.push_back(value(outer));
  }
  node.outputs.assign(proto.output().begin(), proto.output().end());
  ISOMER_TRY(node.attributes, read_attributes(proto, source_));
  node.declared = sparse_constant_type(proto);
  read_bodies(node, proto, graph.opsets, bodies_, [&](std::string_view name) { return value(name); });
  node.extras = extras_of(proto);
  return node;
}

Status GraphBuilder::add_operators() {
  for (int position = 0; position < proto_.node_size(); ++position) {
    const onnx::NodeProto& proto = proto_.node(position);
    ISOMER_TRY(Node node, read_operator(proto, position));
    const NodeId id = graph.add(std::move(node));
    for (int k = 0; k < proto.output_size(); ++k) {
      if (!proto.output(k).empty())
        values_.emplace(proto.output(k), Value{id, static_cast<std::uint32_t>(k)});
    }
    shell_.nodes.emplace(id, &proto);
  }
  return Done{};
}

Status GraphBuilder::add_outputs() {
  for (const auto& input : proto_.input()) {
    const Value named = value(input.name());
    if (graph.node(named.node).kind == NodeKind::Input || graph.is_overridable(named.node))
      graph.add_input(named);
  }
  for (const auto* infos : {&proto_.value_info(), &proto_.output()}) {
    for (const auto& info : *infos) {
      ISOMER_TRY_DO(check_name(info.name(), "value"));
      ISOMER_TRY(DeclaredType type, read_type(info));
      if (type.is_tensor && type.type == ElementType::Undefined) continue;
      graph.declare(info.name(), std::move(type));
    }
  }
  for (const auto& output : proto_.output()) graph.add_output(value(output.name()));
  return Done{};
}

}  // namespace

Result<Graph> build_graph(const onnx::ModelProto& model, const Opsets& opsets, const Functions& functions,
                          const Captures& captures, const TensorSource& source, ModelShell& shell) {
  GraphBuilder builder(model, captures, functions, source, shell);
  builder.graph.name = model.graph().name();
  builder.graph.opsets = opsets;
  ISOMER_TRY(builder.graph.functions.write(), function_digests(functions, source));
  ISOMER_TRY_DO(builder.add_inputs());
  ISOMER_TRY_DO(builder.add_initializers());
  ISOMER_TRY_DO(builder.add_sparse_initializers());
  ISOMER_TRY_DO(builder.add_operators());
  ISOMER_TRY_DO(builder.add_outputs());
  return builder.take();
}

}  // namespace isomer::wire
