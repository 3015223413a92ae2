#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_is_inf(const Call& call) {
  const bool negative = call.flag("detect_negative", true), positive = call.flag("detect_positive", true);
  return elementwise(
      call,
      [&](const std::vector<Expr>& x) {
        Expr y = integer(ElementType::Bool, 0);
        if (negative) y = apply(Fn::IsNegativeInf, {x[0]});
        if (positive && negative) return apply(Fn::Or, {y, apply(Fn::IsPositiveInf, {x[0]})});
        return positive ? apply(Fn::IsPositiveInf, {x[0]}) : y;
      },
      is_float);
}

}  // namespace

extern const Operator kIsInf{
    .name = "IsInf",
    .doc = "y = whether x is infinite; detect_negative and detect_positive say which infinities count",
    .define = define_is_inf,
    .since = 10,
    .most_inputs = 1,
};

}  // namespace isomer::ops
