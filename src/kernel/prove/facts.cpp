#include "kernel/prove/facts.h"

#include <algorithm>
#include <cmath>

namespace isomer {

bool all_positive(const Tensor& tensor) {
  const auto values = tensor.doubles();
  return values && std::ranges::all_of(*values, [](double v) { return v > 0 && std::isfinite(v); });
}

Tensor without_unit_axes(const Tensor& tensor) {
  Extents extents = tensor.extents();
  std::erase(extents, 1);
  return {tensor.type(), std::move(extents), tensor.bytes()};
}

}  // namespace isomer
