// ONNX Runtime's own operators that are common in quantized models and decoders, by its documentation
// (ContribOperators.md).
#include <algorithm>
#include <array>

#include "model/graph/opaque_site.h"

namespace isomer {
namespace {

using Site = OpaqueSite;
using Outputs = OpaqueOutputs;

// Every tensor is followed by its scale and its zero point, which has the tensor's type.
Outputs quantize(const Site& o, std::string_view op, const std::vector<std::size_t>& inputs,
                 std::size_t zero_point) {
  auto shape = o.has(zero_point) ? shape_as(o, op, inputs) : std::nullopt;
  return shape ? Outputs{info_of(o.in(zero_point).type, std::move(*shape))} : Outputs{};
}
Outputs quantized_binary(const Site& o) { return quantize(o, "Add", {0, 3}, 7); }
Outputs quantized_unary(const Site& o) { return quantize(o, "Relu", {0}, 4); }

Outputs quantized_pool(const Site& o) {
  return o.integer("channels_last", 0) == 0 ? quantize(o, "GlobalAveragePool", {0}, 4) : Outputs{};
}

Outputs quantized_concat(const Site& o) {
  std::vector<std::size_t> inputs;
  for (std::size_t k = 2; k < o.node.inputs.size(); k += 3) inputs.push_back(k);
  return quantize(o, "Concat", inputs, 1);
}

// A float where the result has no scale of its own.
Outputs quantized_gemm(const Site& o) {
  const bool is_float = o.node.inputs.size() < 9 || !o.node.inputs[8].exists();
  Outputs out = quantize(o, "Gemm", {0, 3}, is_float ? 2 : 8);
  if (is_float && !out.empty()) out[0].type = ElementType::Float;
  return out;
}

Outputs float_product(const Site& o, std::size_t of_type) {
  auto shape = o.has(of_type) ? shape_as(o, "MatMul", {0, 1}) : std::nullopt;
  return shape ? Outputs{info_of(o.in(of_type).type, std::move(*shape))} : Outputs{};
}
Outputs dynamic_product(const Site& o) { return float_product(o, 0); }
Outputs scaled_product(const Site& o) { return float_product(o, 2); }

// A [..., K] by weights of a few bits each: [..., N].
Outputs packed_product(const Site& o) {
  const std::int64_t columns = o.integer("N", -1);
  if (!o.has(0) || o.rank(0) < 1 || columns < 0) return {};
  Dims shape = o.shape(0);
  shape.back() = columns;
  return {info_of(o.in(0).type, std::move(shape))};
}

Outputs like_first(const Site& o) {
  if (!o.has(0)) return {};
  return {info_of(o.in(0).type, o.shape(0))};
}

// Query [batch, sequence, heads * size]; keys and values so far, with the new ones: [batch, fewer heads, ?,
// size].
Outputs grouped_attention(const Site& o) {
  const std::int64_t heads = o.integer("num_heads", 0), fewer = o.integer("kv_num_heads", 0);
  if (!o.has(0) || !o.has(1) || o.rank(0) != 3 || o.rank(1) != 3 || heads < 1 || fewer < 1) return {};
  const auto width = o.shape(0)[2].value();
  if (!width || *width % heads != 0) return {};
  const ElementType type = o.in(0).type;
  Outputs out{info_of(type, o.shape(0))};
  for (std::size_t k = 1; k < std::min<std::size_t>(o.node.outputs.size(), 3); ++k)
    out.push_back(
        info_of(type, {o.shape(0)[0], fewer, o.symbols.fresh(o.node.outputs[k], 2), *width / heads}));
  return out;
}

constexpr std::array kLines{OpaqueLine{"DynamicQuantizeMatMul", dynamic_product},
                            OpaqueLine{"GroupQueryAttention", grouped_attention},
                            OpaqueLine{"MatMulIntegerToFloat", scaled_product},
                            OpaqueLine{"MatMulNBits", packed_product},
                            OpaqueLine{"QGemm", quantized_gemm},
                            OpaqueLine{"QLinearAdd", quantized_binary},
                            OpaqueLine{"QLinearConcat", quantized_concat},
                            OpaqueLine{"QLinearGlobalAveragePool", quantized_pool},
                            OpaqueLine{"QLinearLeakyRelu", quantized_unary},
                            OpaqueLine{"QLinearMul", quantized_binary},
                            OpaqueLine{"QLinearSigmoid", quantized_unary},
                            OpaqueLine{"QLinearSoftmax", quantized_unary},
                            OpaqueLine{"RotaryEmbedding", like_first}};

}  // namespace

std::optional<OpaqueLine> runtimes_line(std::string_view op) {
  const auto at = std::ranges::find(kLines, op, &OpaqueLine::op);
  return at == kLines.end() ? std::nullopt : std::optional(*at);
}

}  // namespace isomer
