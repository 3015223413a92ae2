#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_max(const Call& call) {
  return elementwise(call, [](const std::vector<Expr>& x) {
    Expr y = x[0];
    for (std::size_t k = 1; k < x.size(); ++k) y = apply(Fn::Max, {y, x[k]});
    return y;
  });
}

}  // namespace

extern const Operator kMax{
    .name = "Max",
    .doc = "y = the largest of the inputs; NaN if one is",
    .define = define_max,
};

}  // namespace isomer::ops
