// Softmax: exp(x - max x) / Σ exp(x - max x) along an axis.
#include "ops/softmax.h"

namespace isomer {

ReducedAxes read_softmax_axes(const Call& call) {
  require_types(call, is_float);
  const bool flattens = call.opset < 13;
  const auto axis = normalize_axis(call.integer("axis", flattens ? 1 : -1), call.rank(0));
  if (!axis) throw IllegalCall("axis is outside of the input's rank", "axis");
  return flattens ? ReducedAxes::from(call.shape(0), *axis) : ReducedAxes::only(call.shape(0), *axis);
}

void sample_softmax(Sampler& s, TypeList types) {
  Extents shape = s.shape(s.opset() < 13 ? 2 : 1, 4);
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (s.chance(0.05)) shape[0] = 0;
  s.input(s.pick(types), shape, s.chance(0.3) ? Sampler::Values::Small : Sampler::Values::Normal);
  if (s.chance(0.8)) s.attribute("axis", s.between(s.opset() < 11 ? 0 : -rank, rank - 1));
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
    .sample = [](Sampler& s) { sample_softmax(s, kFloats); },
    .most_inputs = 1,
};

}  // namespace ops
}  // namespace isomer
