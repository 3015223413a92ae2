#include "io/onnx/read_body.h"

#include <algorithm>
#include <array>
#include <functional>

#include "io/onnx/read_attribute.h"
#include "io/onnx/read_type.h"
#include "model/ops/schemas.h"

namespace isomer::wire {
namespace {

constexpr int kDeepest = 64;  // bodies in bodies, and calls in functions; real models have up to 5

constexpr std::int64_t kNodesOfAGraph = 8;  // what a graph costs beside its nodes, in nodes

// One graph, with what it captures as further inputs.
class BodyBuilder {
 public:
  BodyBuilder(const Opsets& opsets, const BodyContext& context, int depth)
      : opsets_(opsets), context_(context), depth_(depth) {
    graph_.opsets = opsets;
    graph_.functions = context.digests;
  }

  Status add_graph(const onnx::GraphProto& proto);
  void add_input(const std::string& name, DeclaredType type);
  Status add_node(const onnx::NodeProto& proto);
  void add_output(const std::string& name) { graph_.add_output(value(name)); }

  // The graph, whose last inputs are the names in `captured`.
  Graph take() {
    for (const Value& input : captured_inputs_) graph_.add_input(input);
    return std::move(graph_);
  }
  std::vector<std::string> captured;

 private:
  Value value(std::string_view name);

  const Opsets& opsets_;
  const BodyContext& context_;
  int depth_;
  Graph graph_;
  std::map<std::string, Value, std::less<>> values_;
  std::vector<Value> captured_inputs_;
};

Value BodyBuilder::value(std::string_view name) {
  if (const auto found = values_.find(name); found != values_.end()) return found->second;
  Node node;
  node.kind = NodeKind::Input;
  node.outputs = {std::string(name)};
  const Value captured_input{graph_.add(std::move(node)), 0};
  values_.emplace(name, captured_input);
  captured.emplace_back(name);
  captured_inputs_.push_back(captured_input);
  return captured_input;
}

void BodyBuilder::add_input(const std::string& name, DeclaredType type) {
  Node node;
  node.kind = NodeKind::Input;
  node.outputs = {name};
  node.declared = std::move(type);
  const Value input{graph_.add(std::move(node)), 0};
  values_.emplace(name, input);
  graph_.add_input(input);
}

Status BodyBuilder::add_node(const onnx::NodeProto& proto) {
  Node node;
  node.op = proto.op_type();
  node.domain = normal_domain(proto.domain());
  node.overload = proto.overload();
  node.name = proto.name();
  for (const std::string& input : proto.input())
    node.inputs.push_back(input.empty() ? Value::none() : value(input));
  node.outputs.assign(proto.output().begin(), proto.output().end());
  ISOMER_TRY(node.attributes, read_attributes(proto, context_.source));
  node.declared = sparse_constant_type(proto);
  read_bodies(node, proto, opsets_, context_, [&](std::string_view name) { return value(name); }, depth_ + 1);
  const NodeId id = graph_.add(std::move(node));
  for (int k = 0; k < proto.output_size(); ++k)
    if (!proto.output(k).empty()) values_.emplace(proto.output(k), Value{id, static_cast<std::uint32_t>(k)});
  return Done{};
}

Status BodyBuilder::add_graph(const onnx::GraphProto& proto) {
  if (proto.sparse_initializer_size() > 0) return Error{"a sparse initializer in a body"};
  std::map<std::string_view, const onnx::TensorProto*> initializers;
  for (const auto& tensor : proto.initializer()) initializers.emplace(tensor.name(), &tensor);
  for (const auto& input : proto.input()) {
    if (initializers.contains(input.name())) continue;
    ISOMER_TRY(DeclaredType type, read_type(input));
    add_input(input.name(), std::move(type));
  }
  for (const auto& tensor : proto.initializer()) {
    Node node;
    node.kind = NodeKind::Initializer;
    node.outputs = {tensor.name()};
    ISOMER_TRY(node.tensor, read_tensor(tensor, context_.source));
    values_.emplace(tensor.name(), Value{graph_.add(std::move(node)), 0});
  }
  for (const auto* infos : {&proto.value_info(), &proto.output()}) {
    for (const auto& info : *infos) {
      ISOMER_TRY(DeclaredType type, read_type(info));
      if (!type.is_tensor || type.type != ElementType::Undefined)
        graph_.declare(info.name(), std::move(type));
    }
  }
  for (const auto& node : proto.node()) ISOMER_TRY_DO(add_node(node));
  for (const auto& output : proto.output()) add_output(output.name());
  return Done{};
}

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Given = std::map<std::string_view, const onnx::AttributeProto*>;

// Replaces references to the function's attributes by what the call gives; those that it doesn't give are
// left out.
void substitute(Nodes& nodes, const Given& given) {
  for (auto& node : nodes) {
    auto& attributes = *node.mutable_attribute();
    for (int k = attributes.size(); k-- > 0;) {
      onnx::AttributeProto& attribute = attributes[k];
      if (!attribute.ref_attr_name().empty()) {
        const auto found = given.find(attribute.ref_attr_name());
        if (found == given.end()) {
          attributes.DeleteSubrange(k, 1);
          continue;
        }
        const std::string name = attribute.name();
        attribute = *found->second;
        attribute.set_name(name);
      }
      if (attribute.has_g()) substitute(*attribute.mutable_g()->mutable_node(), given);
      for (auto& graph : *attribute.mutable_graphs()) substitute(*graph.mutable_node(), given);
    }
  }
}

// Whether a node, or one in a graph of its, has an attribute that a call gives.
bool takes_attributes(const Nodes& nodes) {
  return std::ranges::any_of(nodes, [](const onnx::NodeProto& node) {
    return std::ranges::any_of(node.attribute(), [](const onnx::AttributeProto& attribute) {
      return !attribute.ref_attr_name().empty() ||
             (attribute.has_g() && takes_attributes(attribute.g().node())) ||
             std::ranges::any_of(attribute.graphs(),
                                 [](const auto& graph) { return takes_attributes(graph.node()); });
    });
  });
}

// A function's nodes with what a call gives, which live as long as tensors that are read from them.
struct GivenNodes {
  std::shared_ptr<const void> arena;
  Nodes nodes;
};

Result<Body> call_body(const onnx::NodeProto& call, const onnx::FunctionProto& function,
                       const BodyContext& context, int depth) {
  context.nodes_left -= kNodesOfAGraph;
  if (context.nodes_left < 0) return Error{"too many calls of functions"};
  Given given;
  for (const auto& attribute : function.attribute_proto()) given[attribute.name()] = &attribute;
  for (const auto& attribute : call.attribute()) given[attribute.name()] = &attribute;
  const Nodes* nodes = &function.node();
  TensorSource source = context.source;
  if (takes_attributes(*nodes)) {
    const auto copy = std::make_shared<GivenNodes>(GivenNodes{source.arena, *nodes});
    substitute(copy->nodes, given);
    nodes = &copy->nodes;
    source.arena = copy;
  }
  ISOMER_TRY(const Opsets opsets, read_opsets(function.opset_import()));
  const BodyContext inner{context.functions, context.digests, source, context.nodes_left};
  BodyBuilder builder(opsets, inner, depth);
  for (const std::string& input : function.input()) builder.add_input(input, {});
  for (const auto& node : *nodes) {
    if (--context.nodes_left < 0) return Error{"too many nodes once functions are written out"};
    ISOMER_TRY_DO(builder.add_node(node));
  }
  for (const std::string& output : function.output()) builder.add_output(output);
  if (!builder.captured.empty()) return Error{"a function reads what it doesn't define"};
  return Body{.attribute = {}, .graph = std::make_shared<const Graph>(builder.take()), .captured = {}};
}

Result<Body> attribute_body(Node& node, const onnx::AttributeProto& attribute, const Opsets& opsets,
                            const BodyContext& context, const std::function<Value(std::string_view)>& outer,
                            int depth) {
  BodyBuilder builder(opsets, context, depth);
  ISOMER_TRY_DO(builder.add_graph(attribute.g()));
  Body body{.attribute = attribute.name(), .graph = nullptr, .captured = {}};
  for (const std::string& name : builder.captured) {
    const Value value = outer(name);
    auto at = std::ranges::find(node.captures, value);
    if (at == node.captures.end()) at = node.captures.insert(at, value);
    body.captured.push_back(static_cast<std::uint32_t>(at - node.captures.begin()));
  }
  body.graph = std::make_shared<const Graph>(builder.take());
  return body;
}

// Domains of a runtime's own operators. ONNX Runtime ignores a function with the name of one; its set of
// names depends on its version.
bool is_a_runtimes(std::string_view domain) {
  constexpr std::array<std::string_view, 4> kRuntimes = {"com.microsoft", "com.ms", "ai.onnx",
                                                         "org.pytorch.aten"};
  return std::ranges::any_of(kRuntimes, [&](std::string_view own) {
    return domain == own || (domain.starts_with(own) && domain[own.size()] == '.');
  });
}

}  // namespace

void read_bodies(Node& node, const onnx::NodeProto& proto, const Opsets& opsets, const BodyContext& context,
                 const std::function<Value(std::string_view)>& outer, int depth) {
  if (depth > kDeepest) return;
  std::vector<Body> bodies;
  const auto add = [&](Result<Body> body) {
    const bool is_ok = body.ok();
    if (is_ok) bodies.push_back(*std::move(body));
    return is_ok;
  };
  const FunctionName name = called_name(proto);
  if (const auto function = context.functions.find(name); function != context.functions.end()) {
    if (!is_a_runtimes(name.domain)) add(call_body(proto, *function->second, context, depth));
  } else {
    for (const auto& attribute : proto.attribute())
      if (attribute.has_g() && !add(attribute_body(node, attribute, opsets, context, outer, depth))) return;
  }
  // Whatever the order of the attributes in the file: that is no part of a model.
  std::ranges::stable_sort(bodies, {}, &Body::attribute);
  node.bodies = std::move(bodies);
}

}  // namespace isomer::wire
