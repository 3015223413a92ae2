// Samples of normalizations by mean and variance.
#include "contract/samples/samples.h"

namespace isomer::contract::samples {
namespace {

void sample_skip(Sampler& s, bool simplified) {
  const Extents shape{s.between(1, 3), s.between(1, 4), s.pick({4, 8})};
  s.input(ElementType::Float, shape);
  s.input(ElementType::Float, shape);
  s.input(ElementType::Float, {shape[2]});
  if (!simplified && s.chance(0.7)) s.input(ElementType::Float, {shape[2]});
  else if (!simplified) s.absent();
  if (s.chance(0.5)) s.input(ElementType::Float, {shape[2]});
  s.attribute("epsilon", s.pick({1e-5F, 1e-3F}));
}

}  // namespace

void BatchNormalization(Sampler& s) {
  const Extents shape = s.shape(2, 5, 4);
  const auto type = s.pick(kFloats);
  s.input(type, shape);
  for (int k = 0; k < 3; ++k) s.input(type, {shape[1]});
  s.input(type, {shape[1]}, Sampler::Values::Positive);
  if (s.chance(0.5)) s.attribute("epsilon", s.pick({1e-3F, 0.1F}));
  if (s.chance(0.2)) s.attribute("momentum", 0.5F);
}

void GroupNormalization(Sampler& s) {
  const std::int64_t groups = s.between(1, 3), channels = groups * s.between(1, 3),
                     parameters = s.opset() < 21 ? groups : channels;
  Extents shape{s.between(1, 2), channels};
  const Extents spatial = s.shape(1, 3, 4);
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  s.input(ElementType::Float, shape);
  s.input(ElementType::Float, {parameters});
  s.input(ElementType::Float, {parameters});
  s.attribute("num_groups", groups);
  if (s.chance(0.5)) s.attribute("epsilon", s.pick({1e-3F, 0.1F}));
}

void InstanceNormalization(Sampler& s) {
  Extents shape = s.shape(3, 5, 4);
  ++shape[2];  // of one element alone a rounded mean is all that is left, times 1 / sqrt(epsilon)
  s.input(ElementType::Float, shape);
  s.input(ElementType::Float, {shape[1]});
  s.input(ElementType::Float, {shape[1]});
  if (s.chance(0.5)) s.attribute("epsilon", s.pick({1e-3F, 0.1F}));
}

void LayerNormalization(Sampler& s) {
  const Extents shape = s.shape(1, 4);
  const auto rank = static_cast<std::int64_t>(shape.size()), axis = s.between(0, rank - 1);
  const Extents tail(shape.begin() + axis, shape.end());
  s.input(ElementType::Float, shape);
  s.input(ElementType::Float, tail);
  if (s.chance(0.6)) s.input(ElementType::Float, tail);
  if (axis != rank - 1 || s.chance(0.5)) s.attribute("axis", s.chance(0.5) ? axis : axis - rank);
  if (s.chance(0.5)) s.attribute("epsilon", s.pick({1e-3F, 0.1F}));
  s.outputs(static_cast<int>(s.between(1, 3)));
}

void MeanVarianceNormalization(Sampler& s) {
  Extents shape = s.shape(4, 4, 4);
  shape[2] += 2;  // one element alone has no variance
  s.input(ElementType::Float, shape);
  if (s.chance(0.5))
    s.attribute("axes",
                s.pick<std::vector<std::int64_t>>({{2}, {1, 2}, {2, 3}, {0, 1, 2, 3}, {3, 2, 0}, {-2, -1}}));
}

void MicrosoftSkipLayerNormalization(Sampler& s) { sample_skip(s, false); }
void MicrosoftSkipSimplifiedLayerNormalization(Sampler& s) { sample_skip(s, true); }

void RMSNormalization(Sampler& s) {
  const Extents shape = s.shape(1, 4);
  const auto rank = static_cast<std::int64_t>(shape.size()), axis = s.between(0, rank - 1);
  s.input(ElementType::Float, shape);
  s.input(ElementType::Float, Extents(shape.begin() + axis, shape.end()));
  if (axis != rank - 1 || s.chance(0.5)) s.attribute("axis", s.chance(0.5) ? axis : axis - rank);
  if (s.chance(0.5)) s.attribute("epsilon", s.pick({1e-3F, 0.1F}));
}

// ONNX Runtime's name for it.
void SimplifiedLayerNormalization(Sampler& s) { RMSNormalization(s); }

}  // namespace isomer::contract::samples
