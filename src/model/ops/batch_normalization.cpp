// BatchNormalization as it infers: y[n,c,...] = (x - mean[c]) · scale[c] / sqrt(var[c] + epsilon) + bias[c].
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_batch_normalization(const Call& call) {
  require_types(call, is_float);
  if (call.output_count > 1 || call.flag("training_mode", false))
    return opaque("BatchNormalization that trains");
  if (call.opset < 9 && !call.flag("spatial", true)) return opaque("statistics per element");
  if (call.rank(0) < 2) return opaque("an input without channels");
  auto f = call.formula();
  const auto x = f.input(0);
  for (int k = 1; k < 5; ++k)
    if (call.rank(k) != 1 || !call.may_equal(call.shape(k)[0], x.extent(1)))
      return invalid("the statistics have not one value per channel");
  const Axis c = f.axis(x.extent(1));
  const Expr deviation = apply(Fn::Sqrt, {f.input(4)(c) + finite_real(call, "epsilon", 1e-5F)});
  const auto factor = f.stage({c}, f.input(1)(c) / deviation);
  const auto p = f.axes(x.shape());
  f.output(p, (x.at(to_indices(p)) - f.input(3)(p[1])) * factor(p[1]) + f.input(2)(p[1]));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kBatchNormalization{
    .name = "BatchNormalization",
    .doc = "y = (x - mean) · scale / sqrt(var + epsilon) + bias per channel",
    .define = define_batch_normalization,
    .least_inputs = 5,
    .most_inputs = 5,
};

}  // namespace isomer::ops
