// LogSoftmax: (x - max x) - log Σ exp(x - max x) along an axis.
#include "model/ops/softmax.h"

namespace isomer::ops {
namespace {

Definition define_log_softmax(const Call& call) {
  const ReducedAxes over = read_softmax_axes(call);
  auto f = call.formula();
  const auto x = f.input(0);
  const auto largest =
      reduce_stage(f, over, Reduction::Max, [&](const std::vector<Index>& at) { return x.at(at); });
  const auto shifted = [&](const std::vector<Index>& at) { return x.at(at) - largest.at(over.squash(at)); };
  const auto total = reduce_stage(
      f, over, Reduction::Sum, [&](const std::vector<Index>& at) { return apply(Fn::Exp, {shifted(at)}); });
  const auto p = f.axes(x.shape());
  f.output(p, shifted(to_indices(p)) - apply(Fn::Log, {total.at(over.squash(to_indices(p)))}));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kLogSoftmax{
    .name = "LogSoftmax",
    .doc = "y = x - max x - log Σ exp(x - max x) along an axis",
    .define = define_log_softmax,
    .most_inputs = 1,
};

}  // namespace isomer::ops
