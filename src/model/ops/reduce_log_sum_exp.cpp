// ReduceLogSumExp: log Σ exp(x) over the axes, as m + log Σ exp(x - m) with m = max x, which doesn't
// overflow.
#include "model/ops/shared/reduce.h"

namespace isomer::ops {
namespace {

constexpr Fold kFold{.accepts = is_float, .of_nothing = false};

Definition define_reduce_log_sum_exp(const Call& call) {
  const ReducedAxes over = read_reduced_axes(call, kFold);
  auto f = call.formula();
  const auto x = f.input(0);
  const auto largest =
      reduce_stage(f, over, Reduction::Max, [&](const std::vector<Index>& at) { return x.at(at); });
  const auto total = reduce_stage(f, over, Reduction::Sum, [&](const std::vector<Index>& at) {
    return apply(Fn::Exp, {x.at(at) - largest.at(over.squash(at))});
  });
  const Reduced y(f, over, call.flag("keepdims", true));
  f.output(y.axes, apply(Fn::Log, {total.at(y.position)}) + largest.at(y.position));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kReduceLogSumExp{
    .name = "ReduceLogSumExp",
    .doc = "y = log Σ exp(x) over the axes",
    .define = define_reduce_log_sum_exp,
};

}  // namespace isomer::ops
