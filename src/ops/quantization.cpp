#include "ops/quantization.h"

#include <cmath>

namespace isomer {

Expr saturate(const Expr& x, ElementType to) {
  const int width = bits(to) - (is_signed_integer(to) ? 1 : 0);
  const double high = std::exp2(width) - 1, low = is_signed_integer(to) ? -std::exp2(width) : 0;
  const Expr above = apply(Fn::Max, {x, number(x.type(), low)});
  return cast(apply(Fn::Min, {above, number(x.type(), high)}), to);
}

Expr quantized(const Expr& x, const Expr& scale, const Expr& zero_point) {
  return saturate(apply(Fn::Round, {x / scale}) + cast(zero_point, x.type()), zero_point.type());
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

}  // namespace isomer
