#include <fmt/format.h>

#include "io/onnx/write_proto.h"

namespace isomer::wire {
namespace {

using onnx::AttributeProto;

// Strings have a field of their own; everything else is raw data.
void write_elements(const Tensor& tensor, onnx::TensorProto& proto) {
  if (tensor.type() == ElementType::String) {
    for (const std::string& text : tensor.strings()) proto.add_string_data(text);
  } else {
    proto.set_raw_data(tensor.bytes().data, tensor.bytes().size);
  }
}

struct WriteValue {
  AttributeProto& proto;

  bool operator()(std::int64_t value) const {
    proto.set_type(AttributeProto::INT);
    proto.set_i(value);
    return true;
  }
  bool operator()(float value) const {
    proto.set_type(AttributeProto::FLOAT);
    proto.set_f(value);
    return true;
  }
  bool operator()(const std::string& value) const {
    proto.set_type(AttributeProto::STRING);
    proto.set_s(value);
    return true;
  }
  bool operator()(const Tensor& value) const {
    proto.set_type(AttributeProto::TENSOR);
    *proto.mutable_t() = tensor_header(value, {});
    proto.mutable_t()->clear_name();
    write_elements(value, *proto.mutable_t());
    return true;
  }
  bool operator()(const std::vector<std::int64_t>& values) const {
    proto.set_type(AttributeProto::INTS);
    proto.mutable_ints()->Add(values.begin(), values.end());
    return true;
  }
  bool operator()(const std::vector<float>& values) const {
    proto.set_type(AttributeProto::FLOATS);
    proto.mutable_floats()->Add(values.begin(), values.end());
    return true;
  }
  bool operator()(const std::vector<std::string>& values) const {
    proto.set_type(AttributeProto::STRINGS);
    proto.mutable_strings()->Add(values.begin(), values.end());
    return true;
  }
  bool operator()(const RawAttribute& value) const { return proto.ParseFromString(value.bytes); }
};

}  // namespace

onnx::TensorProto tensor_header(const Tensor& tensor, const std::string& name) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(static_cast<int>(tensor.type()));
  for (const std::int64_t extent : tensor.extents()) proto.add_dims(extent);
  return proto;
}

Result<onnx::NodeProto*> make_node(const Graph& graph, const Node& node, Arena& arena) {
  auto* proto = Arena::CreateMessage<onnx::NodeProto>(&arena);
  ISOMER_CHECK(proto->ParseFromString(node.extras), "extras are a message that we wrote");
  proto->set_op_type(node.op);
  if (!node.domain.empty()) proto->set_domain(node.domain);
  if (!node.overload.empty()) proto->set_overload(node.overload);
  if (!node.name.empty()) proto->set_name(node.name);
  for (const Value& input : node.inputs) proto->add_input(graph.name_of(input));
  for (const std::string& output : node.outputs) proto->add_output(output);
  for (const Attribute& attribute : node.attributes.all()) {
    AttributeProto& written = *proto->add_attribute();
    if (!std::visit(WriteValue{written}, attribute.value)) {
      return Error{fmt::format("attribute {} of {} can't be written", attribute.name, label(node)), node.name,
                   attribute.name};
    }
    written.set_name(attribute.name);
  }
  return proto;
}

void write_type(const DeclaredType& type, onnx::TypeProto& proto) {
  auto& tensor = *proto.mutable_tensor_type();
  tensor.set_elem_type(static_cast<int>(type.type));
  if (!type.shape) return;
  tensor.mutable_shape();
  for (const auto& extent : *type.shape) {
    auto& dim = *tensor.mutable_shape()->add_dim();
    if (!extent) continue;
    const auto symbols = extent->symbols();
    if (extent->is_concrete()) dim.set_dim_value(extent->concrete());
    else dim.set_dim_param(*extent == Dim::symbol(symbols[0]) ? symbols[0] : extent->text());
  }
}

}  // namespace isomer::wire
