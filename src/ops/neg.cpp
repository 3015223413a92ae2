#include "ops/define.h"

namespace isomer::ops {
namespace {

void sample_neg(Sampler& s) {
  sample_unary(s, {ElementType::Float, ElementType::Double, ElementType::Int8, ElementType::Int16,
                   ElementType::Int32, ElementType::Int64});
}

}  // namespace

extern const Operator kNeg{
    .name = "Neg",
    .doc = "y = -x",
    .define = [](const Call& call) { return elementwise(call, Fn::Neg, is_signed_number); },
    .sample = sample_neg,
    .most_inputs = 1,
};

}  // namespace isomer::ops
