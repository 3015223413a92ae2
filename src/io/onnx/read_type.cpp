#include "io/onnx/read_type.h"

#include <fmt/format.h>

#include "io/onnx/read_tensor.h"
#include "io/onnx/read_text.h"
#include "model/graph/text/spelling.h"

namespace isomer::wire {
namespace {

using onnx::TypeProto;

// A tensor type, dense or sparse.
template <class TensorType>
Result<DeclaredType> read_tensor_type(const TensorType& type) {
  if (type.elem_type() < 0 || type.elem_type() > kLastOnnxType) {
    return Error{fmt::format("has element type {}, which onnx 1.23 does not define or Isomer does not know",
                             type.elem_type())};
  }
  DeclaredType declared;
  declared.type = static_cast<ElementType>(type.elem_type());
  if (!type.has_shape()) return declared;
  if (type.shape().dim_size() > kHighestRank) {
    return Error{fmt::format("has {} dims, over {}", type.shape().dim_size(), kHighestRank)};
  }
  declared.shape.emplace();
  for (const auto& dim : type.shape().dim()) {
    ISOMER_TRY_DO(check_name(dim.dim_param(), "dimension"));
    std::optional<Dim> extent;
    if (dim.has_dim_value() && dim.dim_value() >= 0) extent = Dim(dim.dim_value());
    // Paddle names every open dimension "?"; they are not one.
    if (!dim.dim_param().empty() && dim.dim_param() != "?") extent = Dim::symbol(dim.dim_param());
    declared.shape->push_back(std::move(extent));
  }
  return declared;
}

// Sequences, optionals and maps wrap one type each, so a type is a chain; the protobuf depth bounds its
// length.
Result<DeclaredType> read_chain(const TypeProto& outermost) {
  std::string prefix, suffix;
  for (const TypeProto* type = &outermost;; suffix += ")") {
    switch (type->value_case()) {
      case TypeProto::kSequenceType:
        prefix += "seq(";
        type = &type->sequence_type().elem_type();
        continue;
      case TypeProto::kOptionalType:
        prefix += "optional(";
        type = &type->optional_type().elem_type();
        continue;
      case TypeProto::kMapType: {
        const int key = type->map_type().key_type();
        if (key <= 0 || key > kLastOnnxType) return Error{fmt::format("has a map with key type {}", key)};
        prefix += fmt::format("map({}, ", name(static_cast<ElementType>(key)));
        type = &type->map_type().value_type();
        continue;
      }
      case TypeProto::kSparseTensorType: {
        ISOMER_TRY(const DeclaredType dense, read_tensor_type(type->sparse_tensor_type()));
        return DeclaredType{
            dense.type, {}, false, fmt::format("{}sparse_tensor({}){}", prefix, spell(dense), suffix)};
      }
      case TypeProto::kTensorType: {
        ISOMER_TRY(DeclaredType tensor, read_tensor_type(type->tensor_type()));
        if (prefix.empty()) return tensor;
        return DeclaredType{ElementType::Undefined, {}, false, prefix + spell(tensor) + suffix};
      }
      default: return DeclaredType{ElementType::Undefined, {}, false, prefix + "opaque()" + suffix};
    }
  }
}

}  // namespace

Result<DeclaredType> read_type(const onnx::ValueInfoProto& value) {
  if (!value.has_type() || value.type().value_case() == TypeProto::VALUE_NOT_SET) return DeclaredType{};
  auto type = read_chain(value.type());
  if (type.ok()) return type;
  return Error{fmt::format("value {} {}", shown(value.name()), type.error().message)};
}

}  // namespace isomer::wire
