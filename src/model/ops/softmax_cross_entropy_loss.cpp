// SoftmaxCrossEntropyLoss: NegativeLogLikelihoodLoss of the logarithm of softmax along axis 1, which is the
// second output.
#include "model/ops/shared/log_loss.h"
#include "model/ops/shared/reduced_axes.h"

namespace isomer::ops {
namespace {

Definition define_softmax_cross_entropy_loss(const Call& call) {
  check_loss(call);
  auto f = call.formula();
  const auto x = f.input(0);
  const auto over = ReducedAxes::only(x.shape(), 1);
  if (over.is_empty()) return opaque("no classes");
  const auto largest =
      reduce_stage(f, over, Reduction::Max, [&](const std::vector<Index>& at) { return x.at(at); });
  const Body shifted = [&](const std::vector<Index>& at) { return x.at(at) - largest.at(over.squash(at)); };
  const auto total = reduce_stage(
      f, over, Reduction::Sum, [&](const std::vector<Index>& at) { return apply(Fn::Exp, {shifted(at)}); });
  const auto p = f.axes(x.shape());
  const auto logs =
      f.stage(p, shifted(to_indices(p)) - apply(Fn::Log, {total.at(over.squash(to_indices(p)))}));
  output_loss(call, f, [&](const std::vector<Index>& at) { return logs.at(at); });
  if (call.output_count > 1) {
    const auto q = f.axes(x.shape());
    f.output(q, logs.at(to_indices(q)));
  }
  return std::move(f).finish();
}

}  // namespace

extern const Operator kSoftmaxCrossEntropyLoss{
    .name = "SoftmaxCrossEntropyLoss",
    .doc = "y = -weight[label] · log softmax(x)[n, label] per sample, its sum, or its weighted mean",
    .define = define_softmax_cross_entropy_loss,
    .since = 12,
    .least_inputs = 2,
    .most_inputs = 3,
};

}  // namespace isomer::ops
