// Samples of activation functions.
#include "contract/samples/samples.h"

namespace isomer::contract::samples {

void Celu(Sampler& s) {
  sample_unary(s, {ElementType::Float});
  if (s.chance(0.6)) s.attribute("alpha", s.pick({0.5f, 1.5f, 2.0f}));
}

void Elu(Sampler& s) {
  sample_unary(s, {ElementType::Float});
  if (s.chance(0.6)) s.attribute("alpha", s.pick({0.5f, 1.5f, 2.0f}));
}

void Gelu(Sampler& s) {
  sample_unary(s, {ElementType::Float});
  if (s.chance(0.7)) s.attribute("approximate", std::string(s.chance(0.5) ? "tanh" : "none"));
}

void HardSigmoid(Sampler& s) {
  sample_unary(s, {ElementType::Float});
  if (s.chance(0.6)) s.attribute("alpha", s.pick({0.1f, 0.5f, 1.0f}));
  if (s.chance(0.6)) s.attribute("beta", s.pick({0.0f, 0.3f, 0.7f}));
}

void HardSwish(Sampler& s) { sample_unary(s, {ElementType::Float}); }

void LeakyRelu(Sampler& s) {
  sample_unary(s, {ElementType::Float});
  if (s.chance(0.6)) s.attribute("alpha", s.pick({0.0f, 0.1f, 0.3f, -0.5f, 2.0f}));
}

void MicrosoftBiasGelu(Sampler& s) {
  const Extents shape = s.shape(1, 4);
  s.input(ElementType::Float, shape);
  s.input(ElementType::Float, {shape.back()});
}

void MicrosoftFastGelu(Sampler& s) {
  const Extents shape = s.shape(1, 4);
  s.input(ElementType::Float, shape);
  if (s.chance(0.6)) s.input(ElementType::Float, {shape.back()});
}

void MicrosoftGelu(Sampler& s) { sample_unary(s, {ElementType::Float}); }

void MicrosoftQuickGelu(Sampler& s) {
  sample_unary(s, {ElementType::Float});
  if (s.chance(0.5)) s.attribute("alpha", s.pick({0.5F, 1.0F}));
}

void Mish(Sampler& s) { sample_unary(s, {ElementType::Float}); }

void PRelu(Sampler& s) {
  const Extents shape = s.shape(0, 4);
  Extents slope(shape.begin() + s.between(0, static_cast<std::int64_t>(shape.size())), shape.end());
  for (std::int64_t& e : slope)
    if (s.chance(0.4)) e = 1;
  s.input(ElementType::Float, shape);
  s.input(ElementType::Float, slope);
}

void Relu(Sampler& s) {
  using enum ElementType;
  if (s.opset() < 14) return sample_unary(s, kFloats);
  sample_unary(s, {Float, Double, Int32, Int8});
}

void Selu(Sampler& s) {
  sample_unary(s, {ElementType::Float});
  if (s.chance(0.6)) s.attribute("alpha", s.pick({0.5f, 1.5f}));
  if (s.chance(0.6)) s.attribute("gamma", s.pick({0.5f, 2.0f}));
}

void Shrink(Sampler& s) {
  using enum ElementType;
  sample_unary(s, {Float, Int8, Int32, Int64, Uint8});
  // A bias no larger than lambd keeps unsigned results positive.
  if (s.chance(0.6)) s.attribute("bias", s.pick({0.25f, 1.0f, 0.5f}));
  if (s.chance(0.6)) s.attribute("lambd", s.pick({1.0f, 1.5f, 2.0f}));
}

void Sigmoid(Sampler& s) { sample_unary(s, kFloats); }
void Softplus(Sampler& s) { sample_unary(s, {ElementType::Float}); }
void Softsign(Sampler& s) { sample_unary(s, {ElementType::Float}); }

void SwiGLU(Sampler& s) {
  const Extents shape = s.shape(0, 4);
  s.input(ElementType::Float, shape);
  s.input(ElementType::Float, shape);
  if (s.chance(0.5)) s.attribute("alpha", s.pick({0.5F, 1.702F}));
}

void Swish(Sampler& s) {
  sample_unary(s, {ElementType::Float});
  if (s.chance(0.6)) s.attribute("alpha", s.pick({0.5f, 1.702f, 2.0f}));
}

void ThresholdedRelu(Sampler& s) {
  sample_unary(s, {ElementType::Float});
  if (s.chance(0.6)) s.attribute("alpha", s.pick({0.0f, 0.5f, -0.5f}));
}

}  // namespace isomer::contract::samples
