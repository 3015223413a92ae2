// NegativeLogLikelihoodLoss: -weight[label] · x[n, label, d...] per sample, its sum, or its weighted mean.
// Samples with the label ignore_index count for nothing.
#include "model/ops/shared/log_loss.h"

namespace isomer {

void check_loss(const Call& call) {
  if (!is_float(call.type(0)) || !is_index_type(call.type(1)))
    throw IllegalCall("floats and integer labels are needed");
  if (call.rank(0) < 2 || call.rank(1) != call.rank(0) - 1) throw IllegalCall("labels are of another rank");
  if (call.has(2) && (call.type(2) != call.type(0) || call.rank(2) != 1))
    throw IllegalCall("weights must be a vector");
  for (std::size_t i = 0; i < call.shape(1).size(); ++i)
    if (!call.may_equal(call.shape(0)[i == 0 ? 0 : i + 1], call.shape(1)[i]))
      throw IllegalCall("labels are of another shape");
  if (call.has(2) && !call.may_equal(call.shape(2)[0], call.shape(0)[1]))
    throw IllegalCall("there is not one weight per class");
  call.runs_if(-1);  // a label may be none of the classes
  const std::string reduction = call.text("reduction", "mean");
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    throw IllegalCall("there is no such reduction", "reduction");
}

void output_loss(const Call& call, FormulaBuilder& f,
                 const std::function<Expr(const std::vector<Index>&)>& score) {
  const auto labels = f.input(1);
  const Dim classes = call.shape(0)[1];
  const ElementType type = call.type(0);
  const auto zero = number(type, 0), one = number(type, 1);
  // The label at a position, 0 where it is ignored, and whether it counts.
  const auto label = [&](const std::vector<Index>& at) -> std::pair<Expr, Expr> {
    const Expr given = cast(labels.at(at), ElementType::Int64);
    if (!call.has_attribute("ignore_index")) return {given, Expr()};
    const Expr ignored =
        apply(Fn::Equal, {given, integer(ElementType::Int64, call.integer("ignore_index", 0))});
    return {where(ignored, integer(ElementType::Int64, 0), given), ignored};
  };
  const auto weight = [&](const std::vector<Index>& at) {
    const auto [index, ignored] = label(at);
    const Expr w =
        call.has(2) ? look_up(f, index, classes, [&](const Index& v) { return f.input(2)(v); }) : one;
    return ignored ? where(ignored, zero, w) : w;
  };
  const auto loss = [&](const std::vector<Index>& at) {
    const Expr picked = look_up(f, label(at).first, classes, [&](const Index& v) {
      auto place = at;
      place.insert(place.begin() + 1, v);
      return score(place);
    });
    return -(weight(at) * picked);
  };
  const std::string reduction = call.text("reduction", "mean");
  const auto p = f.axes(labels.shape());
  if (reduction == "none") {
    f.output(p, loss(to_indices(p)));
    return;
  }
  const auto losses = f.stage(p, loss(to_indices(p)));
  const auto q = f.axes(labels.shape()), r = f.axes(labels.shape());
  const Expr total = sum(q, losses.at(to_indices(q)));
  if (reduction == "sum") {
    f.output({}, total);
    return;
  }
  const auto s = f.axes(labels.shape());
  const auto weights = f.stage(s, weight(to_indices(s)));
  f.output({}, total / sum(r, weights.at(to_indices(r))));
}

namespace ops {
namespace {

Definition define_negative_log_likelihood_loss(const Call& call) {
  check_loss(call);
  auto f = call.formula();
  const auto x = f.input(0);
  output_loss(call, f, [&](const std::vector<Index>& at) { return x.at(at); });
  return std::move(f).finish();
}

}  // namespace

extern const Operator kNegativeLogLikelihoodLoss{
    .name = "NegativeLogLikelihoodLoss",
    .doc = "y = -weight[label] · x[n, label] per sample, its sum, or its weighted mean",
    .define = define_negative_log_likelihood_loss,
    .since = 12,
    .least_inputs = 2,
    .most_inputs = 3,
};

}  // namespace ops
}  // namespace isomer
