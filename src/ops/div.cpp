#include "ops/define.h"

namespace isomer::ops {
namespace {

Definition define_div(const Call& call) {
  need_divisor(call);
  return elementwise(call, Fn::Div);
}

void sample_div(Sampler& s) {
  sample_binary(s, s.opset() < 14 ? kWideNumbers : kNumbers,
                s.chance(0.5) ? Sampler::Values::NonZero : Sampler::Values::Positive);
}

}  // namespace

extern const Operator kDiv{
    .name = "Div",
    .doc = "y = a / b; of integers rounded towards zero",
    .define = define_div,
    .sample = sample_div,
    .since = 7,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
