#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_min(const Call& call) {
  return elementwise(call, [](const std::vector<Expr>& x) {
    Expr y = x[0];
    for (std::size_t k = 1; k < x.size(); ++k) y = apply(Fn::Min, {y, x[k]});
    return y;
  });
}

}  // namespace

extern const Operator kMin{
    .name = "Min",
    .doc = "y = the smallest of the inputs; NaN if one is",
    .define = define_min,
};

}  // namespace isomer::ops
