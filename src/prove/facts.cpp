#include "prove/facts.h"

#include <algorithm>
#include <cmath>

namespace isomer {

bool all_positive(const Tensor& tensor) {
  const auto values = tensor.doubles();
  return values && std::ranges::all_of(*values, [](double v) { return v > 0 && std::isfinite(v); });
}

}  // namespace isomer
