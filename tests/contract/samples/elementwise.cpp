// Samples of operators that compute each element from those at its place.
#include "contract/samples/samples.h"

namespace isomer::contract::samples {

void Abs(Sampler& s) { sample_unary(s, kNumbers); }
void Acos(Sampler& s) { sample_unary(s, {ElementType::Float}, Sampler::Values::Unit); }
void Acosh(Sampler& s) { sample_unary(s, {ElementType::Float}, Sampler::Values::AboveOne); }
void Add(Sampler& s) { sample_binary(s, s.opset() < 14 ? kWideNumbers : kNumbers, Sampler::Values::Wide); }
void And(Sampler& s) { sample_binary(s, {ElementType::Bool}); }
void Asin(Sampler& s) { sample_unary(s, {ElementType::Float}, Sampler::Values::Unit); }
void Asinh(Sampler& s) { sample_unary(s, {ElementType::Float}); }
void Atan(Sampler& s) { sample_unary(s, {ElementType::Float}); }
void Atanh(Sampler& s) { sample_unary(s, {ElementType::Float}, Sampler::Values::Unit); }

void BitShift(Sampler& s) {
  using enum ElementType;
  const ElementType type = s.pick({Uint8, Uint32, Uint64});
  const Extents a = s.shape(0, 4), b = s.broadcastable(a);
  s.input(type, a, Sampler::Values::Wide);
  s.input(type, b, Sampler::Values::Small);
  s.attribute("direction", std::string(s.chance(0.5) ? "LEFT" : "RIGHT"));
}

void BitwiseAnd(Sampler& s) { sample_binary(s, kIntegers, Sampler::Values::Wide); }
void BitwiseNot(Sampler& s) { sample_unary(s, kIntegers, Sampler::Values::Wide); }
void BitwiseOr(Sampler& s) { sample_binary(s, kIntegers, Sampler::Values::Wide); }
void BitwiseXor(Sampler& s) { sample_binary(s, kIntegers, Sampler::Values::Wide); }

void Cast(Sampler& s) {
  using enum ElementType;
  const auto any = [&] {
    return s.pick({Float, Double, Float16, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64, Bool});
  };
  const ElementType from = any(), to = any();
  const bool keeps = is_float(from) && is_integer(to);  // out of the integer's range is undefined
  sample_unary(s, {from}, keeps ? Sampler::Values::Positive : Sampler::Values::Small);
  s.attribute("to", static_cast<std::int64_t>(to));
}

void CastLike(Sampler& s) {
  using enum ElementType;
  sample_unary(s, {Float, Double, Int32, Int64, Uint8, Bool}, Sampler::Values::Positive);
  s.input(s.pick({Float, Double, Int32, Int64, Uint8, Bool}), s.shape(0, 2));
}

void Ceil(Sampler& s) { sample_unary(s, kFloats, Sampler::Values::Halves); }

void Clip(Sampler& s) {
  using enum ElementType;
  if (s.opset() < 11) {
    sample_unary(s, {Float});
    if (s.chance(0.7)) s.attribute("min", s.pick({-1.0f, -0.5f, 0.0f, 0.5f}));
    if (s.chance(0.7)) s.attribute("max", s.pick({1.0f, 0.5f, 6.0f}));
    return;
  }
  if (s.opset() < 12) sample_unary(s, {Float});
  else sample_unary(s, {Float, Double, Int8, Int32, Int64, Uint8, Uint32, Uint64});
  const ElementType type = s.inputs[0].type;
  for (int k = 1; k <= 2; ++k) {
    if (s.chance(0.3)) s.absent();
    else s.input(type, {}, Sampler::Values::Small);
    if (s.chance(0.5)) s.inputs.back().constant = s.inputs.back().type != Undefined;
  }
}

void Cos(Sampler& s) { sample_unary(s, kFloats); }
void Cosh(Sampler& s) { sample_unary(s, {ElementType::Float}); }

void Div(Sampler& s) {
  sample_binary(s, s.opset() < 14 ? kWideNumbers : kNumbers,
                s.chance(0.5) ? Sampler::Values::NonZero : Sampler::Values::Positive);
}

void Dropout(Sampler& s) {
  sample_unary(s, kFloats);
  if (s.opset() < 12) {
    if (s.chance(0.5)) s.attribute("ratio", 0.3f);
    return;
  }
  s.outputs(s.chance(0.5) ? 2 : 1);
  if (s.chance(0.3)) return;
  if (s.chance(0.5)) s.constant(Tensor::of<float>(ElementType::Float, {}, {0.3f}));
  else s.absent();
  if (s.chance(0.5)) s.constant(Tensor::of<std::uint8_t>(ElementType::Bool, {}, {0}));
}

void Equal(Sampler& s) {
  using enum ElementType;
  if (s.opset() < 11) return sample_binary(s, {Bool, Int32, Int64}, Sampler::Values::Small);
  if (s.chance(0.2)) return sample_binary(s, {Bool});
  sample_binary(s, kNumbers, Sampler::Values::Small);
}

void Erf(Sampler& s) { sample_unary(s, {ElementType::Float}); }
void Exp(Sampler& s) { sample_unary(s, kFloats); }
void Floor(Sampler& s) { sample_unary(s, kFloats, Sampler::Values::Halves); }
void Greater(Sampler& s) { sample_binary(s, s.opset() < 9 ? kFloats : kNumbers, Sampler::Values::Small); }
void GreaterOrEqual(Sampler& s) { sample_binary(s, kNumbers, Sampler::Values::Small); }
void Identity(Sampler& s) { sample_unary(s, kMovable, Sampler::Values::Special); }

void IsInf(Sampler& s) {
  sample_unary(s, kFloats, Sampler::Values::Special);
  if (s.chance(0.5)) s.attribute("detect_negative", s.between(0, 1));
  if (s.chance(0.5)) s.attribute("detect_positive", s.between(0, 1));
}

void IsNaN(Sampler& s) { sample_unary(s, kFloats, Sampler::Values::Special); }
void Less(Sampler& s) { sample_binary(s, s.opset() < 9 ? kFloats : kNumbers, Sampler::Values::Small); }
void LessOrEqual(Sampler& s) { sample_binary(s, kNumbers, Sampler::Values::Small); }
void Log(Sampler& s) { sample_unary(s, kFloats, Sampler::Values::Positive); }

void Max(Sampler& s) {
  const auto values = s.chance(0.2) ? Sampler::Values::Special : Sampler::Values::Small;
  if (s.opset() < 8) return sample_variadic(s, {ElementType::Float}, values);
  if (s.opset() < 12) return sample_variadic(s, kFloats, values);
  sample_variadic(
      s,
      {ElementType::Float, ElementType::Double, ElementType::Float16, ElementType::Int8, ElementType::Int32,
       ElementType::Int64, ElementType::Uint8, ElementType::Uint32, ElementType::Uint64},
      values);
}

void Mean(Sampler& s) { sample_variadic(s, {ElementType::Float}); }

void Min(Sampler& s) {
  const auto values = s.chance(0.2) ? Sampler::Values::Special : Sampler::Values::Small;
  if (s.opset() < 8) return sample_variadic(s, {ElementType::Float}, values);
  if (s.opset() < 12) return sample_variadic(s, kFloats, values);
  sample_variadic(
      s,
      {ElementType::Float, ElementType::Double, ElementType::Float16, ElementType::Int8, ElementType::Int32,
       ElementType::Int64, ElementType::Uint8, ElementType::Uint32, ElementType::Uint64},
      values);
}

void Mod(Sampler& s) {
  sample_binary(s, kNumbers, Sampler::Values::NonZero);
  if (is_float(s.inputs[0].type) || s.chance(0.4)) s.attribute("fmod", std::int64_t{1});
}

void Mul(Sampler& s) { sample_binary(s, s.opset() < 14 ? kWideNumbers : kNumbers, Sampler::Values::Wide); }

void Neg(Sampler& s) {
  sample_unary(s, {ElementType::Float, ElementType::Double, ElementType::Int8, ElementType::Int16,
                   ElementType::Int32, ElementType::Int64});
}

void Not(Sampler& s) { sample_unary(s, {ElementType::Bool}); }
void Or(Sampler& s) { sample_binary(s, {ElementType::Bool}); }

void Pow(Sampler& s) {
  using enum ElementType;
  const ElementType base = s.opset() < 12 ? s.pick({Float, Double}) : s.pick({Float, Double, Int32, Int64});
  const ElementType exponent = s.opset() < 12 ? base : s.pick({Float, Double, Int32, Int64});
  const Extents a = s.shape(0, 4), b = s.broadcastable(a);
  s.input(base, a, Sampler::Values::Positive);
  // An integer base to a negative power is a fraction, whose conversion back is 0; that is legal, but not at
  // 0.
  if (s.chance(0.4))
    s.constant(exponent == Float    ? Tensor::of<float>(Float, {}, {s.pick({2.0f, 3.0f, 0.5f, 1.0f})})
               : exponent == Double ? Tensor::of<double>(Double, {1}, {s.pick({2.0, 3.0, -1.0})})
               : exponent == Int32  ? Tensor::of<std::int32_t>(Int32, {}, {s.pick({0, 2, 3, 4})})
                                    : Tensor::of<std::int64_t>(Int64, {1}, {s.between(0, 4)}));
  else s.input(exponent, b, Sampler::Values::Small);
}

void Reciprocal(Sampler& s) { sample_unary(s, kFloats, Sampler::Values::NonZero); }
void Round(Sampler& s) { sample_unary(s, kFloats, Sampler::Values::Halves); }
void Sign(Sampler& s) { sample_unary(s, kNumbers, Sampler::Values::Small); }
void Sin(Sampler& s) { sample_unary(s, kFloats); }
void Sinh(Sampler& s) { sample_unary(s, {ElementType::Float}); }
void Sqrt(Sampler& s) { sample_unary(s, kFloats, Sampler::Values::Positive); }
void Sub(Sampler& s) { sample_binary(s, s.opset() < 14 ? kWideNumbers : kNumbers, Sampler::Values::Wide); }
void Sum(Sampler& s) { sample_variadic(s, kFloats); }
void Tan(Sampler& s) { sample_unary(s, {ElementType::Float}, Sampler::Values::Unit); }
void Tanh(Sampler& s) { sample_unary(s, kFloats); }

void Where(Sampler& s) {
  using enum ElementType;
  const ElementType type = s.pick({Float, Double, Int32, Int64, Int8, Uint32, Uint8});
  const Extents shape = s.shape(0, 4);
  Extents parts[3] = {shape, shape, shape};
  for (Extents& part : parts) {
    part.erase(part.begin(), part.begin() + s.between(0, static_cast<std::int64_t>(part.size())));
    for (std::int64_t& e : part)
      if (s.chance(0.2)) e = 1;
  }
  s.input(Bool, parts[0]);
  s.input(type, parts[1]);
  s.input(type, parts[2]);
}

void Xor(Sampler& s) { sample_binary(s, {ElementType::Bool}); }

}  // namespace isomer::contract::samples
