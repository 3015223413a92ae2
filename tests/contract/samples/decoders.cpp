// Samples of the operators of decoders in ONNX Runtime's own domain.
#include "contract/samples/samples.h"

namespace isomer::contract::samples {
namespace {

using enum ElementType;

void add_integers(Sampler& s, ElementType type, const Extents& extents, std::int64_t low, std::int64_t high) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(*element_count(extents)));
  for (std::int64_t& value : values) value = s.between(low, high);
  if (type == Int64) s.constant(Tensor::of(Int64, extents, values));
  else s.constant(Tensor::of(Int32, extents, std::vector<std::int32_t>(values.begin(), values.end())));
  s.inputs.back().constant = false;
}

// The shape of a scale: one number, or one for each position along an axis.
Extents parameter_of(Sampler& s, const Extents& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size()), axis = s.between(0, rank - 1);
  if (!s.chance(0.5)) return {};
  s.attribute("axis", s.chance(0.5) ? axis : axis - rank);
  return {shape[static_cast<std::size_t>(axis)]};
}

}  // namespace

void MicrosoftDequantizeLinear(Sampler& s) {
  const Extents shape = s.shape(1, 4), parameter = parameter_of(s, shape);
  const ElementType type = s.pick({Uint8, Int8, Uint16, Int16});
  s.input(type, shape, Sampler::Values::Wide);
  s.input(Float, parameter, Sampler::Values::Positive);
  if (s.chance(0.7)) s.input(type, parameter, Sampler::Values::Wide);
}

void MicrosoftEmbedLayerNormalization(Sampler& s) {
  const std::int64_t batch = s.between(1, 3), length = s.between(1, 4), width = s.pick({4, 8});
  const bool has_segments = s.chance(0.5), has_mask = s.chance(0.5), has_positions = s.chance(0.4);
  add_integers(s, Int32, {batch, length}, 0, 6);
  if (has_segments) add_integers(s, Int32, {batch, length}, 0, 1);
  else s.absent();
  s.input(Float, {7, width});
  s.input(Float, {5, width});
  if (has_segments) s.input(Float, {2, width});
  else s.absent();
  s.input(Float, {width});
  s.input(Float, {width});
  if (has_mask) add_integers(s, Int32, {batch, length}, 0, 1);
  else if (has_positions) s.absent();
  if (has_positions) add_integers(s, Int32, {s.pick<std::int64_t>({1, batch}), length}, 0, 4);
  if (s.chance(0.5)) s.attribute("epsilon", 1e-3F);
  s.outputs(s.pick({2, 3}));
}

void MicrosoftFusedGemm(Sampler& s) {
  const std::int64_t m = s.between(1, 5), n = s.between(1, 5), k = s.between(1, 6);
  const bool flip_a = s.chance(0.5), flip_b = s.chance(0.5);
  s.input(Float, flip_a ? Extents{k, m} : Extents{m, k});
  s.input(Float, flip_b ? Extents{n, k} : Extents{k, n});
  if (s.chance(0.7)) s.input(Float, s.pick<Extents>({{m, n}, {1, n}, {n}, {1}}));
  if (flip_a) s.attribute("transA", std::int64_t{1});
  if (flip_b) s.attribute("transB", std::int64_t{1});
  if (s.chance(0.5)) s.attribute("alpha", s.pick({0.5F, 2.0F}));
  const std::string kind = s.pick({"Relu", "Sigmoid", "Tanh", "LeakyRelu", "Softplus", "Elu"});
  s.attribute("activation", kind);
  if (kind == "LeakyRelu" || kind == "Elu") s.attribute("activation_alpha", 0.25F);
}

void MicrosoftGatherBlockQuantized(Sampler& s) {
  const std::int64_t bits = s.pick({4, 4, 8}), block = s.pick({16, 32}), each = 8 / bits;
  const std::int64_t rows = s.between(2, 5), blocks = s.between(1, 3), width = block * blocks;
  const bool has_middle = s.chance(0.3);
  const auto shape = [&](std::int64_t last) {
    return has_middle ? Extents{rows, 2, last} : Extents{rows, last};
  };
  s.input(Uint8, shape(width / each), Sampler::Values::Wide);
  add_integers(s, s.pick({Int32, Int64}), s.shape(0, 2, 3), -rows, rows - 1);
  s.input(Float, shape(blocks), Sampler::Values::Positive);
  if (s.chance(0.5)) s.input(Uint8, shape((blocks + each - 1) / each), Sampler::Values::Wide);
  s.attribute("bits", bits);
  s.attribute("block_size", block);
  s.attribute("gather_axis", std::int64_t{0});
  s.attribute("quantize_axis", std::int64_t{has_middle ? 2 : 1});
}

void MicrosoftGroupQueryAttention(Sampler& s) {
  const std::int64_t shared = s.between(1, 2), heads = shared * s.between(1, 2);
  const bool is_first = s.chance(0.4), rotates = s.chance(0.5), packed = s.chance(0.3);
  const std::int64_t size = rotates ? 16 : 8, length = is_first ? s.between(1, 4) : s.pick({1, 1, 1, 2, 3});
  const std::int64_t batch = length > 1 && !is_first ? 1 : s.between(1, 2);
  const std::int64_t before = is_first ? 0 : s.between(1, 4), total = before + length;
  const bool has_past = !is_first || s.chance(0.5), is_shared = s.chance(0.4);
  const std::int64_t past = is_shared ? total + 2 : before;
  s.input(Float, {batch, length, (packed ? heads + 2 * shared : heads) * size});
  for (int k = 0; k < 2; ++k) {
    if (packed) s.absent();
    else s.input(Float, {batch, length, shared * size});
  }
  for (int k = 0; k < 2; ++k) {
    if (has_past) s.input(Float, {batch, shared, past, size});
    else s.absent();
  }
  // One sequence is as long as is said; others may be shorter.
  std::vector<std::int32_t> last(static_cast<std::size_t>(batch), static_cast<std::int32_t>(total - 1));
  if (batch > 1) last[1] = static_cast<std::int32_t>(s.between(is_first ? 0 : length - 1, total - 1));
  s.constant(Tensor::of(Int32, {batch}, last));
  s.inputs.back().constant = false;
  s.constant(Tensor::of(Int32, {1}, std::vector{static_cast<std::int32_t>(total)}));
  if (rotates) {
    s.input(Float, {10, size / 2});
    s.input(Float, {10, size / 2});
    s.attribute("do_rotary", std::int64_t{1});
    if (s.chance(0.4)) s.attribute("rotary_interleaved", std::int64_t{1});
  }
  s.attribute("num_heads", heads);
  s.attribute("kv_num_heads", shared);
  if (s.chance(0.3)) s.attribute("scale", 0.25F);
  if (s.chance(0.3)) s.attribute("softcap", 2.0F);
  if (s.chance(0.3)) s.attribute("local_window_size", s.between(1, 3));
  s.outputs(3);
}

void MicrosoftMultiHeadAttention(Sampler& s) {
  const std::int64_t batch = s.between(1, 2), heads = s.between(1, 3), size = s.pick({2, 4});
  const bool causal = s.chance(0.3), has_mask = s.chance(0.4), has_bias = s.chance(0.4);
  const std::int64_t past = s.chance(0.4) ? s.between(1, 3) : 0, queries = s.between(1, 4);
  const std::int64_t keys = s.between(1, 5), value_size = past > 0 ? size : s.pick({2, 3, 4});
  const std::int64_t width = heads * size, values = heads * value_size;
  s.input(Float, {batch, queries, width});
  s.input(Float, {batch, keys, width});
  s.input(Float, {batch, keys, values});
  if (s.chance(0.5)) s.input(Float, {2 * width + values});
  else s.absent();
  if (has_mask) {
    std::vector<std::int32_t> mask(static_cast<std::size_t>(batch * (past + keys)));
    for (std::size_t k = 0; k < mask.size(); ++k)
      mask[k] = k % static_cast<std::size_t>(past + keys) == 0 || s.chance(0.7) ? 1 : 0;
    s.constant(Tensor::of(Int32, {batch, past + keys}, mask));
    s.inputs.back().constant = false;
  } else {
    s.absent();
  }
  if (has_bias)
    s.input(Float,
            {s.pick<std::int64_t>({1, batch}), s.pick<std::int64_t>({1, heads}), queries, past + keys});
  else s.absent();
  if (past > 0) {
    s.input(Float, {batch, heads, past, size});
    s.input(Float, {batch, heads, past, value_size});
    s.outputs(3);
  }
  s.attribute("num_heads", heads);
  if (causal) s.attribute("unidirectional", std::int64_t{1});
  if (s.chance(0.3)) s.attribute("scale", 0.25F);
}

void MicrosoftQuantizeLinear(Sampler& s) {
  const Extents shape = s.shape(1, 4), parameter = parameter_of(s, shape);
  std::vector<float> scales(static_cast<std::size_t>(*element_count(parameter)));
  for (float& scale : scales) scale = s.pick({0.25F, 0.5F, 1.0F, 0.015625F});
  s.input(Float, shape, Sampler::Values::Halves);
  s.constant(Tensor::of(Float, parameter, scales));
  s.inputs.back().constant = s.chance(0.5);
  if (s.chance(0.7)) s.input(s.pick({Uint8, Int8, Uint16, Int16}), parameter, Sampler::Values::Wide);
}

void MicrosoftRotaryEmbedding(Sampler& s) {
  const std::int64_t batch = s.between(1, 2), heads = s.between(1, 3), length = s.between(1, 4);
  const std::int64_t size = s.pick({4, 8}), rotated = s.chance(0.3) ? size / 2 : size;
  const bool flat = rotated != size || s.chance(0.6);
  s.input(Float, flat ? Extents{batch, length, heads * size} : Extents{batch, heads, length, size});
  if (s.chance(0.5)) add_integers(s, Int64, {batch, length}, 0, 7);
  else add_integers(s, Int64, {1}, 0, 3);
  s.input(Float, {8, rotated / 2});
  s.input(Float, {8, rotated / 2});
  if (rotated != size) {
    s.attribute("num_heads", heads);
    s.attribute("rotary_embedding_dim", rotated);
  }
  if (s.chance(0.5)) s.attribute("interleaved", std::int64_t{1});
}

}  // namespace isomer::contract::samples
