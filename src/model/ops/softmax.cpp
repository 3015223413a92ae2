// Softmax: exp(x - max x) / Σ exp(x - max x) along an axis.
#include "model/ops/softmax.h"

namespace isomer {

ReducedAxes read_softmax_axes(const Call& call) {
  require_types(call, is_float);
  const bool flattens = call.opset < 13;
  const auto axis = normalize_axis(call.integer("axis", flattens ? 1 : -1), call.rank(0));
  if (!axis) throw IllegalCall("axis is outside of the input's rank", "axis");
  return flattens ? ReducedAxes::from(call.shape(0), *axis) : ReducedAxes::only(call.shape(0), *axis);
}

namespace ops {
namespace {

Definition define_softmax(const Call& call) {
  const ReducedAxes over = read_softmax_axes(call);
  auto f = call.formula();
  const auto x = f.input(0);
  const auto largest =
      reduce_stage(f, over, Reduction::Max, [&](const std::vector<Index>& at) { return x.at(at); });
  const auto e = f.axes(x.shape());
  const auto exps =
      f.stage(e, apply(Fn::Exp, {x.at(to_indices(e)) - largest.at(over.squash(to_indices(e)))}));
  const auto total =
      reduce_stage(f, over, Reduction::Sum, [&](const std::vector<Index>& at) { return exps.at(at); });
  const auto p = f.axes(x.shape());
  f.output(p, exps.at(to_indices(p)) / total.at(over.squash(to_indices(p))));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kSoftmax{
    .name = "Softmax",
    .doc = "y = exp(x - max x) / Σ exp(x - max x) along an axis",
    .define = define_softmax,
    .most_inputs = 1,
};

}  // namespace ops
}  // namespace isomer
