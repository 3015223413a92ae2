// LRN: y[n,c,...] = x / (bias + alpha/size · Σ x[n,i,...]²)^beta, i over the `size` channels around c.
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_lrn(const Call& call) {
  require_types(call, is_float);
  if (call.rank(0) < 2) return invalid("an input without channels");
  const std::int64_t size = call.integer("size", 0);
  if (size < 1) return invalid("size must be at least 1", "size");
  if (size % 2 == 0) return opaque("an even size, which ONNX Runtime refuses");
  for (const char* positive : {"alpha", "beta"})
    if (finite_real(call, positive, 1) <= 0)
      return opaque("a number that is not positive, which ONNX Runtime refuses");
  auto f = call.formula();
  const auto x = f.input(0);
  const auto p = f.axes(x.shape());
  const Axis k = f.axis(size);
  auto near = to_indices(p);
  near[1] = near[1] + k - Index((size - 1) / 2);
  const Expr total = sum({k}, x.at(near) * x.at(near));
  const auto real = [&](std::string_view name, float otherwise) {
    return number(x.type(), finite_real(call, name, otherwise));
  };
  const Expr base = real("bias", 1) + real("alpha", 1e-4F) * total / integer(x.type(), size);
  f.output(p, x.at(to_indices(p)) / apply(Fn::Pow, {base, real("beta", 0.75F)}));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kLRN{
    .name = "LRN",
    .doc = "y = x / (bias + alpha/size · Σ x²)^beta over neighbouring channels",
    .define = define_lrn,
    .most_inputs = 1,
};

}  // namespace isomer::ops
