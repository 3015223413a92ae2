#include "ops/define.h"

namespace isomer::ops {
namespace {

Definition define_min(const Call& call) {
  return elementwise(call, [](const std::vector<Expr>& x) {
    Expr y = x[0];
    for (std::size_t k = 1; k < x.size(); ++k) y = apply(Fn::Min, {y, x[k]});
    return y;
  });
}

void sample_min(Sampler& s) {
  const auto values = s.chance(0.2) ? Sampler::Values::Special : Sampler::Values::Small;
  if (s.opset() < 8) return sample_variadic(s, {ElementType::Float}, values);
  if (s.opset() < 12) return sample_variadic(s, kFloats, values);
  sample_variadic(
      s,
      {ElementType::Float, ElementType::Double, ElementType::Float16, ElementType::Int8, ElementType::Int32,
       ElementType::Int64, ElementType::Uint8, ElementType::Uint32, ElementType::Uint64},
      values);
}

}  // namespace

extern const Operator kMin{
    .name = "Min",
    .doc = "y = the smallest of the inputs; NaN if one is",
    .define = define_min,
    .sample = sample_min,
};

}  // namespace isomer::ops
