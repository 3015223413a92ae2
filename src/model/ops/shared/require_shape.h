// Checks that an input has the shape which its operator requires. A formula reads zeros outside of a tensor,
// so that one of another shape would get a meaning that no runtime gives it.
#pragma once

#include <fmt/format.h>

#include "model/ops/shared/define.h"

namespace isomer {

// Throws OpaqueCall if it can't be so; where symbols leave it open, it is needed.
inline void require_shape(const Call& call, int input, const Dims& shape) {
  const Dims& given = call.shape(input);
  bool fits = given.size() == shape.size();
  for (std::size_t i = 0; i < shape.size() && fits; ++i) fits = call.may_equal(given[i], shape[i]);
  if (!fits) throw OpaqueCall(fmt::format("input {} is of another shape than {}", input, text(shape)));
}

}  // namespace isomer
