#include "onnx/read_attribute.h"

#include <fmt/format.h>

#include "onnx/read_text.h"
#include "onnx/tensor_walk.h"

namespace isomer::wire {
namespace {

using onnx::AttributeProto;

template <class List>
auto as_vector(const List& list) {
  return std::vector<typename List::value_type>(list.begin(), list.end());
}

Result<Attribute::Value> read_raw(const AttributeProto& a, const TensorSource& source) {
  TensorWalk inside;
  inside.add(a);
  ISOMER_TRY_DO(check_tensors(inside, source));
  const bool is_graph = a.type() == AttributeProto::GRAPH || a.type() == AttributeProto::GRAPHS;
  return Attribute::Value(RawAttribute{a.SerializeAsString(), is_graph});
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
    default: return read_raw(a, source);
  }
}

}  // namespace

Result<Attributes> read_attributes(const onnx::NodeProto& node, const TensorSource& source) {
  std::vector<Attribute> attributes;
  for (const AttributeProto& a : node.attribute()) {
    auto value = read_value(a, source);
    if (!value.ok()) return fault(node, a.name(), fmt::format("is malformed: {}", value.error().message));
    attributes.push_back({a.name(), *std::move(value)});
  }
  return Attributes(std::move(attributes));
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
