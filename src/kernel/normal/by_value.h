// Which constants take part in a proof by value: small ones, and those with one number throughout. Others are
// symbols: equal to themselves, whatever their numbers are.
#pragma once

#include "model/expr/tensor.h"

namespace isomer {

struct ByValue {
  std::int64_t elements = 1;  // upper limit
  bool tables = false;        // also larger ones of few numbers: the matrices of a transform

  bool takes(const Tensor& constant) const {
    return constant.count() <= elements || constant.is_uniform() ||
           (tables && constant.has_few_numbers(elements));
  }
};

}  // namespace isomer
