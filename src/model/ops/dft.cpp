// DFT: y[k] = Σ_n x[n] · e^(-2πi·k·n / length) along an axis; the last axis holds real and imaginary part. A
// length other than the extent cuts or pads with zeros. The inverse turns the other way and is divided by the
// length; a one-sided one has the first length/2 + 1 bins of a real signal. The axis is an attribute before
// opset 20.
#include <numbers>

#include "model/ops/shared/fourier.h"

namespace isomer {

FourierTables fourier_tables(FormulaBuilder& f, ElementType type, const Dim& bins, const Dim& length) {
  const auto table = [&](Fn fn) {
    const auto p = f.axes({bins, length});
    const Expr n = index_number(Index(length));
    const Expr steps = apply(Fn::Mod, {index_number(p[0]) * index_number(p[1]), n});
    // In double, whatever the type: in float, sin π is far from 0.
    const auto real = [](const Expr& x) { return cast(x, ElementType::Double); };
    const Expr angle = real(steps) * (2 * std::numbers::pi) / real(n);
    return f.stage(p, cast(apply(fn, {angle}), type));
  };
  return {.cosine = table(Fn::Cos), .sine = table(Fn::Sin)};
}

namespace ops {
namespace {

std::int64_t read_axis(const Call& call) {
  if (call.opset < 20) return call.integer("axis", 1);
  if (!call.has(2)) return -2;
  const auto& known = call.in(2).integers;
  if (!known || known->size() != 1 || !known->front().is_concrete())
    throw OpaqueCall("the axis is not known");
  return known->front().concrete();
}

Definition define_dft(const Call& call) {
  require_types(call, is_float, 1);
  const auto axis = normalize_axis(read_axis(call), call.rank(0));
  if (!axis || *axis == call.rank(0) - 1) return invalid("axis is outside of the signal", "axis");
  auto f = call.formula();
  const auto x = f.input(0);
  const bool is_real = x.shape().back().is(1), inverse = call.flag("inverse", false);
  if (!is_real && x.shape().back().equals(2) != true) return invalid("the last axis must hold 1 or 2 parts");
  const bool one_sided = call.flag("onesided", false);
  if (one_sided && (inverse || !is_real))
    return opaque("a one-sided transform of a complex signal, or an inverse");
  Dim length = x.extent(*axis);
  if (call.has(1)) {
    const auto& known = call.in(1).integers;
    if (!known || known->size() != 1) return opaque("the length is not known");
    length = known->front();
  }
  if (length.at_least(1) == false) return opaque("a transform of no elements");
  const Dim bins = one_sided ? Dim::floor(length, 2) + Dim(1) : length;
  const auto tables = fourier_tables(f, x.type(), bins, length);
  const auto a = static_cast<std::size_t>(*axis);
  Dims shape = x.shape();
  shape[a] = bins;
  shape.back() = 2;
  const auto p = f.axes(shape);
  const Axis n = f.axis(length);
  const auto part = [&](int which) {
    auto at = to_indices(p);
    at[a] = n;
    at.back() = which;
    return x.at(at);
  };
  const Expr cosine = tables.cosine(p[a], n);
  const Expr sine = inverse ? -tables.sine(p[a], n) : tables.sine(p[a], n);
  Expr real = sum({n}, part(0) * cosine), imaginary = -sum({n}, part(0) * sine);
  if (!is_real) {
    real = real + sum({n}, part(1) * sine);
    imaginary = imaginary + sum({n}, part(1) * cosine);
  }
  Expr y = cases({{equal_to(p.back(), 0), real}}, imaginary);
  if (inverse) y = y / index_number(Index(length), x.type());
  f.output(p, y);
  return std::move(f).finish();
}

}  // namespace

extern const Operator kDFT{
    .name = "DFT",
    .doc = "y[k] = Σ x[n] · e^(-2πi·k·n / length) along an axis",
    .define = define_dft,
    .since = 17,
    .most_inputs = 3,
};

}  // namespace ops
}  // namespace isomer
