#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_sum(const Call& call) {
  return elementwise(
      call,
      [](const std::vector<Expr>& x) {
        Expr y = x[0];
        for (std::size_t k = 1; k < x.size(); ++k) y = y + x[k];
        return y;
      },
      is_float);
}

}  // namespace

extern const Operator kSum{
    .name = "Sum",
    .doc = "y = the sum of the inputs",
    .define = define_sum,
};

}  // namespace isomer::ops
