#include "model/ops/shared/look_up.h"

namespace isomer {

bool is_index_type(ElementType type) { return type == ElementType::Int32 || type == ElementType::Int64; }

Expr wrapped_index(const Expr& index, const Dim& extent) {
  const Expr i = cast(index, ElementType::Int64);
  return where(apply(Fn::Less, {i, integer(ElementType::Int64, 0)}), i + index_number(Index(extent)), i);
}

Expr look_up(FormulaBuilder& f, const Expr& index, const Dim& extent,
             const std::function<Expr(const Index&)>& data) {
  const auto v = f.axis(extent);
  const Expr hit = apply(Fn::Equal, {index_number(v), wrapped_index(index, extent)}), value = data(v);
  if (value.type() != ElementType::Bool) return sum({v}, where(hit, value, integer(value.type(), 0)));
  // Truth values are not summed, so they are looked up as numbers.
  return cast(sum({v}, where(hit, cast(value, ElementType::Uint8), integer(ElementType::Uint8, 0))),
              ElementType::Bool);
}

Expr look_up_or_zero(FormulaBuilder& f, const Expr& index, const Dim& extent,
                     const std::function<Expr(const Index&)>& data) {
  const Expr none = integer(index.type(), 0), at_end = index_number(Index(extent), index.type());
  const Expr inside =
      apply(Fn::And, {apply(Fn::LessOrEqual, {none, index}), apply(Fn::Less, {index, at_end})});
  const Expr found = look_up(f, where(inside, index, none), extent, data);
  return where(inside, found, integer(found.type(), 0));
}

std::optional<Dims> known_indices(const std::optional<Dims>& known, const Dim& extent) {
  if (!known) return std::nullopt;
  Dims out;
  for (const Dim& index : *known) {
    const auto counts_from_start = index.at_least(0);
    if (!counts_from_start) return std::nullopt;
    out.push_back(*counts_from_start ? index : index + extent);
  }
  return out;
}

std::optional<Index> as_progression(const Dims& values, const Extents& extents, const std::vector<Axis>& q) {
  if (values.empty()) return Index(0);
  Dims strides(extents.size(), 0);
  std::int64_t unit = 1;
  for (std::size_t i = extents.size(); i-- > 0;) {
    if (extents[i] > 1) strides[i] = values[static_cast<std::size_t>(unit)] - values[0];
    unit *= extents[i];
  }
  for (std::size_t k = 0; k < values.size(); ++k) {
    Dim expected = values[0];
    auto rest = static_cast<std::int64_t>(k);
    for (std::size_t i = extents.size(); i-- > 0; rest /= extents[i])
      expected = expected + strides[i] * Dim(rest % extents[i]);
    if (!(expected == values[k])) return std::nullopt;
  }
  Index out(values[0]);
  for (std::size_t i = 0; i < q.size(); ++i) out = out + strides[i] * Index(q[i]);
  return out;
}

std::optional<Index> as_digits(const Dims& values, const Index& position) {
  constexpr int kMostDigits = 4;  // of more than a few there is no order to speak of
  std::vector<std::int64_t> left;
  for (const Dim& v : values) {
    if (!v.is_concrete()) return std::nullopt;
    left.push_back(v.concrete());
  }
  if (left.empty()) return std::nullopt;
  Index out(left[0]), rest = position;
  for (int digits = 0; left.size() > 1; ++digits) {
    if (digits == kMostDigits) return std::nullopt;
    // The lowest digit: equal steps, as far as they go, and then the same from wherever the next one begins.
    const std::int64_t step = left[1] - left[0];
    std::size_t radix = 2;
    while (radix < left.size() && left[radix] - left[radix - 1] == step) ++radix;
    if (left.size() % radix != 0) return std::nullopt;
    std::vector<std::int64_t> higher;
    for (std::size_t k = 0; k < left.size(); ++k) {
      if (k % radix == 0) higher.push_back(left[k]);
      if (left[k] != higher.back() + static_cast<std::int64_t>(k % radix) * step) return std::nullopt;
    }
    const Dim base(static_cast<std::int64_t>(radix));
    out = out + Dim(step) * Index::mod(rest, base);
    rest = Index::floor(rest, base);
    left = std::move(higher);
  }
  return out;
}

}  // namespace isomer
