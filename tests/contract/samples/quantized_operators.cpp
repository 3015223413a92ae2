// Samples of operators that compute with quantised numbers.
#include <algorithm>

#include "contract/samples/samples.h"

namespace isomer::contract::samples {
namespace {

using enum ElementType;

// A scale near `about`: a power of two, of which halves are exact, or any number, of which they are rare;
// those of a result are no multiples of an operand's.
void add_scale(Sampler& s, float about, const Extents& extents = {}, bool is_result = false) {
  std::vector<float> scales(static_cast<std::size_t>(*element_count(extents)));
  const bool is_exact = s.chance(0.5);
  for (float& scale : scales)
    scale = about * (is_exact    ? s.pick({0.5F, 1.0F, 2.0F})
                     : is_result ? s.pick({0.7717F, 1.1213F, 1.3249F})
                                 : s.pick({0.7313F, 1.0591F, 1.3847F, 0.8719F}));
  s.constant(Tensor::of(Float, extents, scales));
  s.inputs.back().constant = s.chance(0.7);
}

void add_zero(Sampler& s, ElementType type) {
  s.input(type, {}, Sampler::Values::Wide);
  s.inputs.back().constant = s.chance(0.7);
}

// An even zero point: ONNX Runtime rounds some results together with it, and half of a step to the even sum.
void add_even_zero(Sampler& s, ElementType type) {
  const auto value = static_cast<std::int8_t>(2 * s.between(-64, 63));
  s.constant(Tensor::of(type, {}, std::vector{value}));
  s.inputs.back().constant = s.chance(0.7);
}

// A tensor of 8 bits, its scale and its zero point.
void add_quantized(Sampler& s, ElementType type, const Extents& extents, float about = 0.03125F) {
  s.input(type, extents, Sampler::Values::Wide);
  add_scale(s, about);
  add_zero(s, type);
}

// The scale and zero point of a result.
void add_result(Sampler& s, ElementType type, float about) {
  add_scale(s, about, {}, true);
  add_even_zero(s, type);
}

// A weight with a scale and a zero point for all, or for each index of an axis.
void add_weight(Sampler& s, ElementType type, const Extents& extents, std::size_t axis, bool may_vary) {
  s.input(type, extents, Sampler::Values::Wide);
  s.inputs.back().constant = s.chance(0.7);
  const bool each = s.chance(0.5);
  const Extents parameter = each ? Extents{extents[axis]} : Extents{};
  add_scale(s, 0.015625F, parameter);
  if (may_vary) {
    s.input(type, parameter, Sampler::Values::Wide);
    return;
  }
  // Where the runtime wants all of them to be equal.
  std::vector<std::int8_t> zeros(static_cast<std::size_t>(*element_count(parameter)),
                                 static_cast<std::int8_t>(s.between(0, 100)));
  s.constant(Tensor::of(type, parameter, zeros));
}

void add_bias(Sampler& s, const Extents& extents) {
  s.input(Int32, extents, Sampler::Values::Normal);
  s.inputs.back().constant = s.chance(0.5);
}

void sample_quantized(Sampler& s, int operands, float result) {
  const ElementType type = s.pick({Uint8, Int8});
  const Extents shape = s.shape(1, 4);
  add_quantized(s, type, shape);
  if (operands > 1) {
    add_quantized(s, type, s.broadcastable(shape));
    // One scale for both: float leaves no exact half of a power of two beside a multiple of 0 of another.
    s.inputs[4].value = s.inputs[1].value;
  }
  add_result(s, type, result);
}

// Matrices of which the second has one batch.
std::pair<Extents, Extents> sample_matrices(Sampler& s) {
  Extents a = s.shape(0, 2, 3);
  const std::int64_t inner = s.between(1, 6);
  a.insert(a.end(), {s.between(1, 5), inner});
  return {a, Extents{inner, s.between(1, 5)}};
}

}  // namespace

void MicrosoftDynamicQuantizeMatMul(Sampler& s) {
  const auto [a, b] = sample_matrices(s);
  const ElementType type = s.pick({Uint8, Int8});
  const Extents column = s.chance(0.5) ? Extents{b.back()} : Extents{};
  s.input(Float, a);
  s.input(type, b, Sampler::Values::Wide);
  add_scale(s, 0.25F, column);
  if (s.chance(0.5)) s.input(type, column, Sampler::Values::Wide);
  else s.absent();
  if (s.chance(0.5)) s.input(Float, {b.back()});
}

void MicrosoftMatMulIntegerToFloat(Sampler& s) {
  const auto [a, b] = sample_matrices(s);
  const ElementType left = s.pick({Uint8, Int8}), right = s.pick({Uint8, Int8});
  const Extents column = s.chance(0.5) ? Extents{b.back()} : Extents{};
  s.input(left, a, Sampler::Values::Wide);
  s.input(right, b, Sampler::Values::Wide);
  add_scale(s, 0.25F);
  add_scale(s, 0.25F, column);
  if (s.chance(0.7)) s.input(left, {}, Sampler::Values::Wide);
  else s.absent();
  if (s.chance(0.5)) s.input(right, column, Sampler::Values::Wide);
  else s.absent();
  if (s.chance(0.5)) s.input(Float, {b.back()});
}

void MicrosoftMatMulNBits(Sampler& s) {
  const std::int64_t bits = s.pick({4, 4, 8}), block = s.pick({16, 32}), rows = s.between(1, 5);
  const std::int64_t inner = s.between(1, 70), blocks = (inner + block - 1) / block, each = 8 / bits;
  Extents a = s.shape(1, 2, 3);
  a.push_back(inner);
  s.input(Float, a, Sampler::Values::Halves);
  s.input(Uint8, {rows, blocks, block / each}, Sampler::Values::Wide);
  const bool flat = s.chance(0.5);
  add_scale(s, 0.25F, flat ? Extents{rows * blocks} : Extents{rows, blocks});
  const std::int64_t packed = (blocks + each - 1) / each;
  if (s.chance(0.5))
    s.input(Uint8, flat ? Extents{rows * packed} : Extents{rows, packed}, Sampler::Values::Wide);
  else if (bits == 4 && s.chance(0.3)) s.input(Float, {rows, blocks}, Sampler::Values::Halves);
  else s.absent();
  if (s.chance(0.3)) {
    s.absent();
    s.input(Float, {rows});
  }
  s.attribute("K", inner);
  s.attribute("N", rows);
  s.attribute("bits", bits);
  s.attribute("block_size", block);
  if (s.chance(0.3)) s.attribute("accuracy_level", std::int64_t{1});
}

void MicrosoftQAttention(Sampler& s) {
  const std::int64_t batch = s.between(1, 2), length = s.between(1, 5), hidden = s.between(2, 5);
  const std::int64_t heads = s.between(1, 3), width = heads * s.pick({2, 4});
  const ElementType type = s.pick({Uint8, Int8}), weight = s.pick({Uint8, Int8});
  const Extents column = s.chance(0.5) ? Extents{3 * width} : Extents{};
  s.input(type, {batch, length, hidden}, Sampler::Values::Wide);
  s.input(weight, {hidden, 3 * width}, Sampler::Values::Wide);
  s.inputs.back().constant = true;  // the runtime packs it
  s.input(Float, {3 * width});
  add_scale(s, 0.015625F);
  add_scale(s, 0.015625F, column);
  if (s.chance(0.5)) {
    std::vector<std::int32_t> mask(static_cast<std::size_t>(batch * length));
    for (std::size_t k = 0; k < mask.size(); ++k)
      mask[k] = k % static_cast<std::size_t>(length) == 0 || s.chance(0.7) ? 1 : 0;
    s.constant(Tensor::of(Int32, {batch, length}, mask));
    s.inputs.back().constant = false;
  } else {
    s.absent();
  }
  add_zero(s, type);
  s.input(weight, column, Sampler::Values::Wide);
  s.inputs.back().constant = true;
  s.attribute("num_heads", heads);
  if (s.chance(0.4)) s.attribute("unidirectional", std::int64_t{1});
}

void MicrosoftQGemm(Sampler& s) {
  const std::int64_t m = s.between(1, 5), n = s.between(1, 5), k = s.between(1, 6);
  const bool flip_a = s.chance(0.5), flip_b = s.chance(0.5), is_float = s.chance(0.3);
  const ElementType a = s.pick({Uint8, Int8}), b = s.pick({Uint8, Int8});
  add_quantized(s, a, flip_a ? Extents{k, m} : Extents{m, k}, 0.015625F);
  const Extents column = s.chance(0.5) ? Extents{n} : Extents{};
  s.input(b, flip_b ? Extents{n, k} : Extents{k, n}, Sampler::Values::Wide);
  add_scale(s, 0.015625F, column);
  s.input(b, column, Sampler::Values::Wide);
  if (s.chance(0.7)) add_bias(s, s.pick<Extents>({{m, n}, {1, n}, {n}, {1}}));
  else if (!is_float) s.absent();
  if (!is_float) add_result(s, a, 0.125F);
  if (flip_a) s.attribute("transA", std::int64_t{1});
  if (flip_b) s.attribute("transB", std::int64_t{1});
  if (s.chance(0.3)) s.attribute("alpha", s.pick({0.5F, 2.0F}));
}

void MicrosoftQLinearAdd(Sampler& s) { sample_quantized(s, 2, 0.0625F); }

void MicrosoftQLinearAveragePool(Sampler& s) {
  const ElementType type = s.pick({Uint8, Int8});
  const std::int64_t height = s.between(3, 7), width = s.between(4, 7);
  add_quantized(s, type, {s.between(1, 2), s.between(1, 3), height, width});
  add_result(s, type, 0.03125F);
  s.attribute("kernel_shape", std::vector<std::int64_t>{s.between(1, 2), s.pick({1, 2, 4})});
  if (s.chance(0.5)) s.attribute("strides", std::vector<std::int64_t>{s.between(1, 2), s.between(1, 2)});
  if (s.chance(0.3)) s.attribute("count_include_pad", std::int64_t{1});
  if (s.chance(0.3)) s.attribute("auto_pad", std::string(s.chance(0.5) ? "SAME_UPPER" : "VALID"));
}

void MicrosoftQLinearConcat(Sampler& s) {
  const ElementType type = s.pick({Uint8, Int8});
  Extents shape = s.shape(1, 4);
  const auto rank = static_cast<std::int64_t>(shape.size()), axis = s.between(0, rank - 1);
  add_result(s, type, 0.03125F);
  for (std::int64_t k = s.between(1, 3); k > 0; --k) {
    shape[static_cast<std::size_t>(axis)] = s.between(1, 3);
    add_quantized(s, type, shape);
  }
  s.attribute("axis", s.chance(0.5) ? axis : axis - rank);
}

void MicrosoftQLinearGlobalAveragePool(Sampler& s) {
  const ElementType type = s.pick({Uint8, Int8});
  add_quantized(s, type, {s.between(1, 2), s.between(1, 4), s.between(1, 5), s.between(1, 5)});
  add_result(s, type, 0.03125F);
}

void MicrosoftQLinearLeakyRelu(Sampler& s) {
  sample_quantized(s, 1, 0.03125F);
  if (s.chance(0.5)) s.attribute("alpha", s.pick({0.1237F, 0.25F}));
}

void MicrosoftQLinearMul(Sampler& s) { sample_quantized(s, 2, 0.125F); }
void MicrosoftQLinearSigmoid(Sampler& s) { sample_quantized(s, 1, 0.00390625F); }

void MicrosoftQLinearSoftmax(Sampler& s) {
  const ElementType type = s.pick({Uint8, Int8});
  Extents shape = s.shape(1, 4);
  for (std::int64_t& extent : shape) ++extent;
  const auto rank = static_cast<std::int64_t>(shape.size());
  add_quantized(s, type, shape);
  s.constant(Tensor::of(Float, {}, std::vector{s.pick({0.00390625F, 0.0078125F})}));
  add_zero(s, type);
  const bool is_new = s.chance(0.7);
  s.attribute("opset", std::int64_t{is_new ? 13 : 11});
  s.attribute("axis", is_new ? s.between(-rank, rank - 1) : rank - 1);
}

void MicrosoftQLinearWhere(Sampler& s) {
  const ElementType type = s.pick({Uint8, Int8});
  const Extents shape = s.shape(1, 3);
  s.input(Bool, s.chance(0.5) ? shape : Extents{shape.back()});
  add_quantized(s, type, shape);
  add_quantized(s, type, s.chance(0.5) ? shape : Extents{});
  add_result(s, type, 0.03125F);
  // The runtime crashes if some of the parameters are constants and others not.
  const bool are_constants = s.chance(0.5);
  for (const std::size_t k : {2U, 3U, 5U, 6U, 7U, 8U}) s.inputs[k].constant = are_constants;
}

void QLinearConv(Sampler& s) {
  const int rank = static_cast<int>(s.between(1, 2));
  const std::int64_t groups = s.pick({1, 1, 2}), from = s.between(1, 3), to = groups * s.between(1, 3);
  const ElementType type = s.pick({Uint8, Uint8, Int8}), weight = type == Int8 ? Int8 : s.pick({Uint8, Int8});
  Extents x{s.between(1, 2), groups * from}, w{to, from};
  std::vector<std::int64_t> pads;
  for (int i = 0; i < rank; ++i) {
    w.push_back(s.between(1, 3));
    x.push_back(w.back() + s.between(0, 4));
  }
  for (int i = 0; i < 2 * rank; ++i) pads.push_back(s.between(0, 1));
  add_quantized(s, type, x, 0.015625F);
  add_weight(s, weight, w, 0, false);
  add_result(s, type, 0.25F);
  if (s.chance(0.7)) add_bias(s, {to});
  if (groups > 1) s.attribute("group", groups);
  if (s.chance(0.5)) s.attribute("pads", pads);
  if (s.chance(0.4)) s.attribute("strides", std::vector<std::int64_t>(static_cast<std::size_t>(rank), 2));
}

void QLinearMatMul(Sampler& s) {
  const auto [a, b] = sample_matrices(s);
  const ElementType left = s.pick({Uint8, Int8});
  add_quantized(s, left, a, 0.015625F);
  add_weight(s, left == Int8 ? Int8 : s.pick({Uint8, Int8}), b, 1, true);
  add_result(s, left, 0.25F);
}

}  // namespace isomer::contract::samples
