#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_div(const Call& call) {
  need_divisor(call);
  return elementwise(call, Fn::Div);
}

}  // namespace

extern const Operator kDiv{
    .name = "Div",
    .doc = "y = a / b; of integers rounded towards zero",
    .define = define_div,
    .since = 7,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
