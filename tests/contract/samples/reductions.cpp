// Samples of reductions, of sums along an axis and of functions that normalize by one: softmax, losses.
#include "contract/samples/samples.h"
#include "model/ops/shared/reduce.h"

namespace isomer::contract::samples {
namespace {

void sample_arg_extremum(Sampler& s) {
  const Extents shape = s.shape(1, 4);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto type = s.pick({ElementType::Float, ElementType::Double, ElementType::Int32, ElementType::Int64,
                            ElementType::Int8, ElementType::Uint8});
  // Small values, so that there are ties.
  s.input(type, shape, s.chance(0.5) || is_integer(type) ? Sampler::Values::Small : Sampler::Values::Normal);
  if (s.chance(0.8)) s.attribute("axis", s.between(s.opset() < 11 ? 0 : -rank, rank - 1));
  if (s.chance(0.6)) s.attribute("keepdims", s.between(0, 1));
  if (s.opset() >= 12 && s.chance(0.5)) s.attribute("select_last_index", s.between(0, 1));
}

void sample_cumulative(Sampler& s) {
  const Extents shape = s.shape(1, 3);
  const auto rank = static_cast<std::int64_t>(shape.size());
  s.input(s.pick({ElementType::Float, ElementType::Double, ElementType::Int32, ElementType::Int64}), shape);
  s.constant(Tensor::of(ElementType::Int64, {}, std::vector{s.between(-rank, rank - 1)}));
  if (s.chance(0.5)) s.attribute("exclusive", s.between(0, 1));
  if (s.chance(0.5)) s.attribute("reverse", s.between(0, 1));
}

void sample_loss(Sampler& s) {
  Extents shape = s.shape(2, 4, 4);
  const std::int64_t classes = shape[1];
  s.input(ElementType::Float, shape);
  shape.erase(shape.begin() + 1);
  const bool ignores = s.chance(0.4);
  const std::int64_t ignored = s.pick({std::int64_t{0}, std::int64_t{-1}});
  std::vector<std::int64_t> labels(static_cast<std::size_t>(*element_count(shape)));
  // The first one counts: a mean over nothing is no number.
  for (std::size_t k = 0; k < labels.size(); ++k)
    labels[k] = ignores && k > 0 && s.chance(0.3) ? ignored
                : k == 0                          ? classes - 1
                                                  : s.between(0, classes - 1);
  s.constant(Tensor::of(ElementType::Int64, shape, labels));
  s.inputs.back().constant = false;
  if (s.chance(0.5)) s.input(ElementType::Float, {classes}, Sampler::Values::Positive);
  if (ignores && !(ignored == 0 && classes == 1)) s.attribute("ignore_index", ignored);
  else if (ignores) s.attribute("ignore_index", std::int64_t{-1});
  if (s.chance(0.7)) s.attribute("reduction", s.pick<std::string>({"none", "sum", "mean"}));
}

// Types for which onnxruntime has kernels of all of them; of ReduceMax and ReduceMin; of these two since
// opset 20.
constexpr TypeList kReducible{ElementType::Float, ElementType::Double, ElementType::Int32,
                              ElementType::Int64};
constexpr TypeList kOrdered{ElementType::Float, ElementType::Double, ElementType::Int32,
                            ElementType::Int64, ElementType::Int8,   ElementType::Uint8};
constexpr TypeList kOrderedOrBool{ElementType::Float, ElementType::Double, ElementType::Int32,
                                  ElementType::Int64, ElementType::Int8,   ElementType::Uint8,
                                  ElementType::Bool};
// Data of one of the types, axes and keepdims.
void sample_reduce(Sampler& s, const Fold& fold, TypeList types,
                   Sampler::Values values = Sampler::Values::Normal) {
  const auto type = s.pick(types);
  Extents shape = s.shape(0, 4, is_integer(type) ? 2 : 5);  // a product of more would overflow
  const bool empty = fold.of_nothing && !shape.empty() && s.chance(0.05);
  if (empty) shape[0] = 0;
  s.input(type, shape, is_float(type) ? values : Sampler::Values::Small);
  const auto rank = static_cast<int>(shape.size());
  std::vector<std::int64_t> axes = s.permutation(rank);
  axes.resize(static_cast<std::size_t>(s.between(0, rank)));
  for (auto& a : axes)
    if (s.opset() >= 11 && !empty && s.chance(0.4))
      a -= rank;  // of an empty input onnxruntime misreads negative axes
  if (s.opset() < fold.axes_input_since) {
    if (!axes.empty()) s.attribute("axes", axes);
  } else {
    if (!axes.empty() || s.chance(0.3)) s.integers(axes);
    if (s.chance(0.3)) s.attribute("noop_with_empty_axes", s.between(0, 1));
  }
  if (s.chance(0.6)) s.attribute("keepdims", s.between(0, 1));
}

void sample_softmax(Sampler& s, TypeList types) {
  Extents shape = s.shape(s.opset() < 13 ? 2 : 1, 4);
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (s.chance(0.05)) shape[0] = 0;
  s.input(s.pick(types), shape, s.chance(0.3) ? Sampler::Values::Small : Sampler::Values::Normal);
  if (s.chance(0.8)) s.attribute("axis", s.between(s.opset() < 11 ? 0 : -rank, rank - 1));
}

}  // namespace

void ArgMax(Sampler& s) { sample_arg_extremum(s); }
void ArgMin(Sampler& s) { sample_arg_extremum(s); }
void CumProd(Sampler& s) { sample_cumulative(s); }
void CumSum(Sampler& s) { sample_cumulative(s); }
void Hardmax(Sampler& s) { sample_softmax(s, {ElementType::Float}); }
void LogSoftmax(Sampler& s) { sample_softmax(s, kFloats); }

void LpNormalization(Sampler& s) {
  const Extents shape = s.shape(1, 4);
  const auto rank = static_cast<std::int64_t>(shape.size());
  s.input(s.pick(kFloats), shape, s.chance(0.3) ? Sampler::Values::Small : Sampler::Values::Normal);
  if (s.chance(0.7)) s.attribute("axis", s.between(-rank, rank - 1));
  if (s.chance(0.7)) s.attribute("p", s.between(1, 2));
}

void NegativeLogLikelihoodLoss(Sampler& s) { sample_loss(s); }
void ReduceL1(Sampler& s) { sample_reduce(s, {}, kReducible); }
void ReduceL2(Sampler& s) { sample_reduce(s, {}, kFloats); }
void ReduceLogSum(Sampler& s) { sample_reduce(s, {}, kFloats, Sampler::Values::Positive); }
void ReduceLogSumExp(Sampler& s) { sample_reduce(s, {.of_nothing = false}, kFloats); }

void ReduceMax(Sampler& s) {
  sample_reduce(s, {.of_nothing = false},
                s.opset() < 12   ? kReducible
                : s.opset() < 20 ? kOrdered
                                 : kOrderedOrBool);
}

void ReduceMean(Sampler& s) { sample_reduce(s, {.of_nothing = false}, kReducible); }

void ReduceMin(Sampler& s) {
  sample_reduce(s, {.of_nothing = false},
                s.opset() < 12   ? kReducible
                : s.opset() < 20 ? kOrdered
                                 : kOrderedOrBool);
}

void ReduceProd(Sampler& s) { sample_reduce(s, {}, kReducible); }
void ReduceSum(Sampler& s) { sample_reduce(s, {.axes_input_since = 13}, kReducible); }
void ReduceSumSquare(Sampler& s) { sample_reduce(s, {}, kReducible); }
void Softmax(Sampler& s) { sample_softmax(s, kFloats); }

void SoftmaxCrossEntropyLoss(Sampler& s) {
  sample_loss(s);
  s.outputs(static_cast<int>(s.between(1, 2)));
}

}  // namespace isomer::contract::samples
