#include <fmt/format.h>

#include "io/onnx/read_tensor.h"
#include "io/onnx/read_text.h"
#include "onnx/onnx-ml.pb.h"

namespace isomer::wire {
namespace {

// ONNX requires positions in row-major order, each inside the dims, each after the one before.
Status check_indices(const Tensor& indices, std::int64_t values, const Extents& dims) {
  const auto rank = static_cast<std::int64_t>(dims.size());
  const bool is_linear = indices.extents() == Extents{values};
  if (indices.type() != ElementType::Int64 || (!is_linear && indices.extents() != Extents{values, rank})) {
    return Error{fmt::format("needs int64 indices of shape [{0}] or [{0}, {1}]", values, rank)};
  }
  const auto flat = indices.as<std::int64_t>();
  const std::int64_t elements = *element_count(dims);
  std::int64_t last = -1;
  for (std::int64_t v = 0; v < values; ++v) {
    std::int64_t position = 0;
    if (is_linear) {
      position = flat[static_cast<std::size_t>(v)];
      if (position < 0 || position >= elements)
        return Error{fmt::format("has index {} out of range", position)};
    } else {
      for (std::int64_t axis = 0; axis < rank; ++axis) {
        const std::int64_t extent = dims[static_cast<std::size_t>(axis)];
        const std::int64_t index = flat[static_cast<std::size_t>(v * rank + axis)];
        if (index < 0 || index >= extent)
          return Error{fmt::format("has index {} out of range in axis {}", index, axis)};
        position = position * extent + index;
      }
    }
    if (position <= last) return Error{"has indices that do not ascend"};
    last = position;
  }
  return Done{};
}

Status check_unnamed(const onnx::SparseTensorProto& proto, const TensorSource& source) {
  const Extents dims(proto.dims().begin(), proto.dims().end());
  if (dims.empty() || dims.size() > kHighestRank) return Error{fmt::format("has {} dims", dims.size())};
  ISOMER_TRY(const Tensor values, read_tensor(proto.values(), source));
  if (!byte_size(values.type(), dims)) {
    return Error{"has dims that are negative or whose product overflows, or elements without a size"};
  }
  if (values.rank() != 1) return Error{"needs values of rank 1"};
  if (values.count() == 0 && !proto.has_indices()) return Done{};
  ISOMER_TRY(const Tensor indices, read_tensor(proto.indices(), source));
  return check_indices(indices, values.count(), dims);
}

}  // namespace

Status check_sparse_tensor(const onnx::SparseTensorProto& proto, const TensorSource& source) {
  auto checked = check_unnamed(proto, source);
  if (checked.ok()) return checked;
  return Error{fmt::format("sparse tensor {} {}", shown(proto.values().name()), checked.error().message)};
}

}  // namespace isomer::wire
