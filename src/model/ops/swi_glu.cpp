// SwiGLU: y = a / (1 + e^(-alpha · a)) · b, of one shape.
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_swi_glu(const Call& call) {
  if (call.rank(0) != call.rank(1)) return invalid("the inputs differ in shape");
  for (std::size_t i = 0; i < call.shape(0).size(); ++i)
    if (!call.may_equal(call.shape(0)[i], call.shape(1)[i])) return invalid("the inputs differ in shape");
  const double alpha = finite_real(call, "alpha", 1);
  return elementwise(
      call, [&](const std::vector<Expr>& x) { return x[0] * apply(Fn::Sigmoid, {x[0] * alpha}) * x[1]; },
      is_float);
}

}  // namespace

extern const Operator kSwiGLU{
    .name = "SwiGLU",
    .doc = "y = a / (1 + e^(-alpha · a)) · b",
    .define = define_swi_glu,
    .since = 28,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
