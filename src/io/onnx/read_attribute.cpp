#include "io/onnx/read_attribute.h"

#include <fmt/format.h>

#include "io/onnx/read_text.h"
#include "io/onnx/tensor_walk.h"
#include "model/ops/schemas.h"

namespace isomer::wire {
namespace {

using onnx::AttributeProto;

template <class List>
auto as_vector(const List& list) {
  return std::vector<typename List::value_type>(list.begin(), list.end());
}

Result<Attribute::Value> read_value(const AttributeProto& a, const TensorSource& source) {
  switch (a.type()) {
    case AttributeProto::INT: return Attribute::Value(std::int64_t{a.i()});
    case AttributeProto::FLOAT: return Attribute::Value(a.f());
    case AttributeProto::STRING: return Attribute::Value(a.s());
    case AttributeProto::INTS:
      return Attribute::Value(std::vector<std::int64_t>(a.ints().begin(), a.ints().end()));
    case AttributeProto::FLOATS: return Attribute::Value(as_vector(a.floats()));
    case AttributeProto::STRINGS: return Attribute::Value(as_vector(a.strings()));
    case AttributeProto::TENSOR: {
      ISOMER_TRY(Tensor tensor, read_tensor(a.t(), source));
      return Attribute::Value(std::move(tensor));
    }
    default: {
      ISOMER_TRY(RawAttribute raw, raw_attribute(a, source));
      return Attribute::Value(std::move(raw));
    }
  }
}

}  // namespace

Result<RawAttribute> raw_attribute(const AttributeProto& attribute, const TensorSource& source) {
  TensorWalk inside;
  inside.add(attribute);
  ISOMER_TRY_DO(check_tensors(inside, source));
  RawAttribute raw;
  raw.bytes = attribute.SerializeAsString();
  raw.is_graph = attribute.type() == AttributeProto::GRAPH || attribute.type() == AttributeProto::GRAPHS;
  ISOMER_TRY(raw.outside, external_tensors(inside, source));
  if (!raw.outside.empty()) raw.without_places = bytes_without_places(attribute);
  return raw;
}

DeclaredType type_of(const onnx::SparseTensorProto& tensor) {
  DeclaredType type{static_cast<ElementType>(tensor.values().data_type()), {}};
  type.shape.emplace(tensor.dims().begin(), tensor.dims().end());
  return type;
}

DeclaredType sparse_constant_type(const onnx::NodeProto& node) {
  if (node.op_type() == "Constant" && normal_domain(node.domain()).empty())
    for (const AttributeProto& a : node.attribute())
      if (a.name() == "sparse_value" && a.has_sparse_tensor()) return type_of(a.sparse_tensor());
  return {};
}

Result<Attributes> read_attributes(const onnx::NodeProto& node, const TensorSource& source) {
  std::vector<Attribute> attributes;
  for (const AttributeProto& a : node.attribute()) {
    auto value = read_value(a, source);
    if (!value.ok()) return fault(node, a.name(), fmt::format("is malformed: {}", value.error().message));
    attributes.push_back({a.name(), *std::move(value)});
  }
  return Attributes(std::move(attributes));
}

Result<std::vector<Tensor>> external_tensors(const TensorWalk& found, const TensorSource& source) {
  std::vector<Tensor> out;
  for (const onnx::TensorProto* tensor : found.tensors) {
    if (!is_external(*tensor)) continue;
    ISOMER_TRY(out.emplace_back(), read_tensor(*tensor, source));
  }
  return out;
}

Status check_tensors(const TensorWalk& found, const TensorSource& source) {
  for (const onnx::SparseTensorProto* tensor : found.sparse)
    ISOMER_TRY_DO(check_sparse_tensor(*tensor, source));
  for (const onnx::TensorProto* tensor : found.tensors) {
    if (const auto read = read_tensor(*tensor, source); !read.ok()) return read.error();
  }
  return Done{};
}

}  // namespace isomer::wire
