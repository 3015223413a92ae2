#include "model/ops/shared/quantization.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace isomer {

Expr saturate(const Expr& x, ElementType to) {
  const int width = bits(to) - (is_signed_integer(to) ? 1 : 0);
  const double high = std::exp2(width) - 1, low = is_signed_integer(to) ? -std::exp2(width) : 0;
  const Expr above = apply(Fn::Max, {x, number(x.type(), low)});
  return cast(apply(Fn::Min, {above, number(x.type(), high)}), to);
}

Expr quantize(const Expr& x, const Expr& scale, const Expr& zero_point) {
  // To double by way of float, which holds 16 bits: there is one way from an integer to a real number.
  const Expr narrow = x.type() == ElementType::Double ? cast(zero_point, ElementType::Float) : zero_point;
  return saturate(apply(Fn::Round, {x / scale}) + cast(narrow, x.type()), zero_point.type());
}

std::vector<Index> parameter_at(const Call& call, int parameter, const std::vector<Axis>& p) {
  const Dims& shape = call.shape(parameter);
  const std::int64_t block = call.opset >= 21 ? call.integer("block_size", 0) : 0;
  if (block == 0 && (shape.empty() || (shape.size() == 1 && shape[0].is(1))))
    return std::vector<Index>(shape.size(), Index(0));
  const auto axis =
      normalize_axis(call.opset >= 13 ? call.integer("axis", 1) : 1, static_cast<int>(p.size()));
  if (!axis) throw IllegalCall("axis is outside of the input's rank", "axis");
  const auto a = static_cast<std::size_t>(*axis);
  if (block == 0) {
    if (shape.size() != 1 || !call.may_equal(shape[0], p[a].extent))
      throw IllegalCall("there is not one scale or zero point for each index of the axis", "axis");
    return {p[a]};
  }
  if (block < 0 || shape.size() != p.size()) throw IllegalCall("the scale has another rank", "block_size");
  auto at = to_indices(p);
  at[a] = Index::floor(p[a], block);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const Dim expected = i == a ? Dim::ceil(p[a].extent, block) : p[i].extent;
    if (!call.may_equal(shape[i], expected)) throw IllegalCall("the scale has another shape", "block_size");
  }
  return at;
}

Expr centred(const Expr& x, const Expr& zero_point, ElementType wide) {
  if (!zero_point) return cast(x, wide);
  if (zero_point.type() != x.type()) throw IllegalCall("a zero point has another type than its input");
  return cast(x, wide) - cast(zero_point, wide);
}

Expr unpack(const std::function<Expr(const Index&)>& byte, const Index& number, std::int64_t bits) {
  if (bits == 8) return byte(number);
  const std::int64_t per_byte = 8 / bits;
  const Expr whole = byte(Index::floor(number, per_byte));
  std::vector<Expr> parts;
  for (std::int64_t k = 0; k < per_byte; ++k) {
    const Expr shifted = apply(Fn::ShiftRight, {whole, integer(ElementType::Uint8, k * bits)});
    parts.push_back(apply(Fn::BitAnd, {shifted, integer(ElementType::Uint8, (1 << bits) - 1)}));
  }
  return tabulate(Index::mod(number, per_byte), parts);
}

Expr QuantizedComposition::parameter(const QuantizedOperand& of, int input,
                                     const std::vector<Index>& at) const {
  const Tensor parameter = f.input(input);
  if (product(parameter.shape()).is(1)) return parameter.at(std::vector<Index>(parameter.shape().size()));
  if (!of.axis || parameter.rank() != 1) throw OpaqueCall("a scale or zero point of another shape");
  const auto axis = static_cast<std::size_t>(*of.axis);
  if (!call_.may_equal(parameter.extent(0), call_.shape(of.x)[axis]))
    throw IllegalCall("there is not one scale or zero point for each index of the axis");
  return parameter(at[axis]);
}

Composition::Tensor QuantizedComposition::steps(const QuantizedOperand& of, ElementType type) {
  const Tensor x = f.input(of.x);
  const auto p = f.axes(x.shape());
  const auto at = to_indices(p);
  const Expr zero = call_.has(of.zero) ? parameter(of, of.zero, at) : Expr();
  if (type == ElementType::Int32) return f.stage(p, centred(x.at(at), zero, type));
  // By way of float, as DequantizeLinear has it: 16 bits are exact there.
  return f.stage(p, cast(cast(centred(x.at(at), zero, ElementType::Int64), ElementType::Float), type));
}

Composition::Tensor QuantizedComposition::dequantize(const QuantizedOperand& of, ElementType type) {
  const Tensor whole = steps(of, type);
  const auto p = f.axes(whole.shape());
  return f.stage(p, whole.at(to_indices(p)) * cast(parameter(of, of.scale, to_indices(p)), type));
}

void QuantizedComposition::output_quantized(const Tensor& x, int scale, int zero, ElementType otherwise) {
  const QuantizedOperand result{.x = -1, .scale = scale, .zero = zero};
  const auto p = f.axes(x.shape());
  const Expr point = call_.has(zero) ? parameter(result, zero, to_indices(p)) : integer(otherwise, 0);
  if (!is_integer(point.type()) || bits(point.type()) > 16)
    throw OpaqueCall("quantised to " + std::string(name(point.type())));
  const Expr by = cast(parameter(result, scale, to_indices(p)), x.type());
  f.output(p, quantize(x.at(to_indices(p)), by, point));
}

bool sums_fit(const Call& call, const Dim& terms, int bias) {
  constexpr std::int64_t kMost = 0x7fffffff, kLargestProduct = 255 * 255;
  if (!terms.is_concrete() || terms.concrete() > kMost / kLargestProduct) return false;
  if (bias < 0 || !call.has(bias)) return true;
  const auto& known = call.in(bias).constant;
  const auto values = known ? known->integers() : std::nullopt;
  const std::int64_t left = kMost - terms.concrete() * kLargestProduct;
  return values && std::ranges::all_of(*values, [&](std::int64_t v) { return v <= left && -v <= left; });
}

void require_bytes(const Call& call, std::initializer_list<int> inputs) {
  for (const int k : inputs)
    if (!is_integer(call.type(k)) || bits(call.type(k)) != 8)
      throw OpaqueCall(fmt::format("input {} of type {}", k, name(call.type(k))));
}

}  // namespace isomer
