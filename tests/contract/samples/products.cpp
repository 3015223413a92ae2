// Samples of matrix products and of attention.
#include <cctype>
#include <map>

#include "contract/samples/samples.h"

namespace isomer::contract::samples {
namespace {

// Two shapes that fit.
std::pair<Extents, Extents> sample_matrices(Sampler& s, std::int64_t least_inner = 1) {
  const Extents batch = s.shape(0, 2, 3);
  Extents a = batch, b = s.broadcastable(batch);
  const std::int64_t inner = s.between(least_inner, 5);
  if (s.chance(0.15)) a = {inner};
  else a.insert(a.end(), {s.between(1, 5), inner});
  if (s.chance(0.15)) b = {inner};
  else b.insert(b.end(), {inner, s.between(1, 5)});
  return {a, b};
}

}  // namespace

void Attention(Sampler& s) {
  using enum ElementType;
  const bool flat = s.chance(0.4);
  const std::int64_t batch = s.between(1, 2), shared = s.between(1, 2), heads = shared * s.between(1, 2);
  const bool causal = s.chance(0.3);
  const std::int64_t past = s.chance(0.3) ? s.between(1, 3) : 0, queries = s.between(1, 4);
  const std::int64_t keys = s.between(1, 5), size = s.pick({2, 4}), width = s.between(1, 4);
  const auto shape = [&](std::int64_t h, std::int64_t length, std::int64_t d) {
    return flat ? Extents{batch, length, h * d} : Extents{batch, h, length, d};
  };
  s.input(Float, shape(heads, queries, size));
  s.input(Float, shape(shared, keys, size));
  s.input(Float, shape(shared, keys, width));
  if (causal) s.attribute("is_causal", std::int64_t{1});
  const Extents mask = s.pick<Extents>({{queries, keys + past},
                                        {heads, queries, keys + past},
                                        {s.pick<std::int64_t>({1, batch}), 1, queries, keys + past},
                                        {batch, heads, queries, keys + past}});
  if (s.chance(0.5)) s.input(!causal && s.chance(0.4) ? Bool : Float, mask);
  else if (past > 0) s.absent();
  if (past > 0) {
    s.input(Float, {batch, shared, past, size});
    s.input(Float, {batch, shared, past, width});
    s.outputs(s.pick({3, 4}));
    if (s.chance(0.7)) s.attribute("qk_matmul_output_mode", s.between(0, 3));
  }
  if (flat) {
    s.attribute("q_num_heads", heads);
    s.attribute("kv_num_heads", shared);
  }
  if (s.chance(0.3)) s.attribute("scale", s.pick({0.25F, 1.0F}));
  if (s.chance(0.3)) s.attribute("softcap", 2.0F);
}

void Einsum(Sampler& s) {
  const std::string equation = s.pick({"ij,jk->ik",
                                       "bij,bjk->bik",
                                       "bhid,bhjd->bhij",
                                       "...ij,...jk->...ik",
                                       "ij,jk",
                                       "ii->i",
                                       "ii",
                                       "iij->j",
                                       "ij->ji",
                                       "ba",
                                       "i,j->ij",
                                       "i,i",
                                       "i,i->i",
                                       "ijk->",
                                       "ijk->k",
                                       "ij,ij->i",
                                       "ij,i->j",
                                       "...i,...i->...",
                                       "i...->...i",
                                       "ab,bc,cd->ad",
                                       "abc,bd,acd->b",
                                       "Ab,bC->AC",
                                       " b i j , b k j -> b i k ",
                                       "ij,kl->ijkl"});
  std::map<char, std::int64_t> extents;
  const Extents ellipsis = s.shape(0, 2, 3);
  const auto type = s.pick({ElementType::Float, ElementType::Double, ElementType::Int32, ElementType::Int64});
  Extents shape;
  for (std::size_t i = 0; i <= equation.size(); ++i) {
    const char c = i < equation.size() ? equation[i] : ',';
    if (c == ',' || c == '-')
      s.input(type, shape, is_float(type) ? Sampler::Values::Normal : Sampler::Values::Small), shape.clear();
    else if (c == '.') shape.insert(shape.end(), ellipsis.begin(), ellipsis.end()), i += 2;
    else if (std::isalpha(static_cast<unsigned char>(c)) != 0)
      shape.push_back(extents.try_emplace(c, s.between(1, 4)).first->second);
    if (c == '-') break;
  }
  s.attribute("equation", equation);
}

void Gemm(Sampler& s) {
  const std::int64_t m = s.between(1, 5), n = s.between(1, 5), k = s.between(1, 6);
  const bool flip_a = s.chance(0.5), flip_b = s.chance(0.5);
  const auto type = s.pick(kFloats);
  s.input(type, flip_a ? Extents{k, m} : Extents{m, k});
  s.input(type, flip_b ? Extents{n, k} : Extents{k, n});
  if (s.opset() < 11 || s.chance(0.7))
    s.input(type, s.pick<Extents>({{m, n}, {1, n}, {m, 1}, {1, 1}, {n}, {1}, {}}));
  if (flip_a || s.chance(0.3)) s.attribute("transA", std::int64_t{flip_a});
  if (flip_b || s.chance(0.3)) s.attribute("transB", std::int64_t{flip_b});
  if (s.chance(0.5)) s.attribute("alpha", s.pick({0.5F, 2.0F, -1.0F, 0.1F}));
  if (s.chance(0.5)) s.attribute("beta", s.pick({0.5F, 2.0F, 0.0F, 0.1F}));
}

void MatMul(Sampler& s) {
  const auto type = s.opset() < 9 ? s.pick(kFloats) : s.pick(kWideNumbers);
  // onnxruntime fails on an empty sum of integers
  const auto [a, b] = sample_matrices(s, is_float(type) && s.chance(0.05) ? 0 : 1);
  s.input(type, a);
  s.input(type, b);
}

void MatMulInteger(Sampler& s) {
  using enum ElementType;
  const auto [a, b] = sample_matrices(s);
  const ElementType left = s.pick({Uint8, Int8}), right = s.pick({Uint8, Int8});
  s.input(left, a, Sampler::Values::Wide);
  s.input(right, b, Sampler::Values::Wide);
  if (s.chance(0.3)) return;
  s.input(left, {}, Sampler::Values::Wide);
  if (s.chance(0.3)) return;
  s.input(right, b.size() == 2 && s.chance(0.5) ? Extents{b.back()} : Extents{}, Sampler::Values::Wide);
}

void MicrosoftAttention(Sampler& s) {
  const std::int64_t batch = s.between(1, 2), length = s.between(1, 5), hidden = s.between(2, 5);
  const std::int64_t heads = s.between(1, 3), width = heads * s.pick({2, 4});
  s.input(ElementType::Float, {batch, length, hidden});
  s.input(ElementType::Float, {hidden, 3 * width});
  s.input(ElementType::Float, {3 * width});
  if (s.chance(0.5)) {
    std::vector<std::int32_t> mask(static_cast<std::size_t>(batch * length));
    for (std::size_t k = 0; k < mask.size(); ++k)
      mask[k] = k % static_cast<std::size_t>(length) == 0 || s.chance(0.7) ? 1 : 0;
    s.constant(Tensor::of(ElementType::Int32, {batch, length}, mask));
    s.inputs.back().constant = false;
  }
  s.attribute("num_heads", heads);
  if (s.chance(0.4)) s.attribute("unidirectional", std::int64_t{1});
  if (s.chance(0.3)) s.attribute("scale", 0.25F);
}

void MicrosoftFusedMatMul(Sampler& s) {
  auto [a, b] = sample_matrices(s);
  // The runtime's meaning of a transposed matrix times a vector is its own.
  const bool has_vector = a.size() == 1 || b.size() == 1;
  for (auto& [shape, name] : {std::pair<Extents*, const char*>(&a, "transA"), {&b, "transB"}}) {
    if (has_vector || !s.chance(0.5)) continue;
    std::swap((*shape)[shape->size() - 1], (*shape)[shape->size() - 2]);
    s.attribute(name, std::int64_t{1});
  }
  s.input(ElementType::Float, a, Sampler::Values::Halves);
  s.input(ElementType::Float, b, Sampler::Values::Halves);
  if (s.chance(0.5)) s.attribute("alpha", s.pick({0.5F, 0.125F}));
}

void RotaryEmbedding(Sampler& s) {
  const std::int64_t batch = s.between(1, 2), heads = s.between(1, 3), length = s.between(1, 4);
  const std::int64_t size = s.pick({4, 8}), rotated = s.chance(0.3) ? size / 2 : size;
  const bool flat = s.chance(0.5), has_positions = s.chance(0.5);
  s.input(ElementType::Float,
          flat ? Extents{batch, length, heads * size} : Extents{batch, heads, length, size});
  const Extents cache = has_positions ? Extents{6, rotated / 2} : Extents{batch, length, rotated / 2};
  s.input(ElementType::Float, cache);
  s.input(ElementType::Float, cache);
  if (has_positions) {
    std::vector<std::int64_t> positions(static_cast<std::size_t>(batch * length));
    for (std::int64_t& position : positions) position = s.between(0, 5);
    s.constant(isomer::Tensor::of(ElementType::Int64, {batch, length}, positions));
    s.inputs.back().constant = false;
  }
  if (flat || rotated != size) s.attribute("num_heads", heads);
  if (rotated != size) s.attribute("rotary_embedding_dim", rotated);
  if (s.chance(0.5)) s.attribute("interleaved", std::int64_t{1});
}

}  // namespace isomer::contract::samples
