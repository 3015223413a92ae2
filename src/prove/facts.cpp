#include "prove/facts.h"

#include <algorithm>
#include <cstring>

namespace isomer {

bool all_positive(const Tensor& tensor) {
  const auto values = tensor.doubles();
  return values && std::ranges::all_of(*values, [](double v) { return v > 0; });
}

bool is_uniform(const Tensor& tensor) {
  if (tensor.type() == ElementType::String || tensor.count() < 1) return false;
  const std::size_t size = tensor.bytes().size / static_cast<std::size_t>(tensor.count());
  return std::memcmp(tensor.bytes().data, tensor.bytes().data + size, tensor.bytes().size - size) == 0;
}

}  // namespace isomer
