#include "optimizer/facts/repeated_constant.h"

#include <algorithm>
#include <cstring>

#include "model/graph/constant.h"

namespace isomer {

bool is_all(const Graph& graph, Value v, double number) {
  const auto tensor = known_constant(graph, v);
  if (!tensor || !tensor->is_uniform()) return false;
  if (tensor->type() == ElementType::Float) return static_cast<double>(tensor->as<float>()[0]) == number;
  const auto numbers = tensor->doubles();
  return numbers && numbers->front() == number;
}

std::vector<bool> repeated_axes(const Tensor& tensor) {
  std::vector<bool> out(tensor.extents().size(), false);
  const int width = bits(tensor.type());
  if (tensor.count() == 0 || width == 0 || width % 8 != 0) return out;
  const std::byte* bytes = tensor.bytes().data;
  std::size_t inner = static_cast<std::size_t>(width) / 8;  // bytes of a slice
  for (std::size_t axis = out.size(); axis-- > 0;) {
    const auto size = static_cast<std::size_t>(tensor.extents()[axis]);
    bool all = size > 1;
    for (std::size_t at = 0; all && at < tensor.bytes().size; at += inner)
      all = std::memcmp(bytes + at, bytes + at - at % (inner * size), inner) == 0;
    out[axis] = all;
    inner *= size;
  }
  return out;
}

std::optional<Value> as_expanded(ProgramBuilder& b, Value constant, const Tensor& tensor) {
  const std::vector<bool> repeated = repeated_axes(tensor);
  if (std::ranges::count(repeated, true) == 0 || tensor.is_uniform()) return std::nullopt;
  for (std::size_t axis = 0; axis < repeated.size(); ++axis)
    if (repeated[axis]) constant = b.slice(constant, static_cast<std::int64_t>(axis), 0, 1);
  return b.op("Expand", {constant, b.integers(tensor.extents())});
}

}  // namespace isomer
