// STFT: y[b, t, k] = Σ_n window[n] · x[b, step·t + n] · e^(-2πi·k·n / length), real and imaginary part on a
// last axis.
#include "model/ops/shared/fourier.h"

namespace isomer::ops {
namespace {

std::optional<Dim> known_scalar(const Call& call, int k) {
  if (!call.has(k) || !call.in(k).integers || call.in(k).integers->size() != 1) return std::nullopt;
  return call.in(k).integers->front();
}

Definition define_stft(const Call& call) {
  if (!is_float(call.type(0)) || (call.has(2) && call.type(2) != call.type(0)))
    return opaque("a signal and a window of different types");
  const auto step = known_scalar(call, 1);
  auto length = known_scalar(call, 3);
  if (!length && !call.has(3) && call.has(2) && call.rank(2) == 1) length = call.shape(2)[0];
  if (!step || !length) return opaque("the step or the length of a frame is not known");
  if (step->at_least(1) != true || length->at_least(1) != true) return opaque("frames of unknown size");
  auto f = call.formula();
  const auto x = f.input(0);
  if (x.rank() != 2 && x.rank() != 3) return invalid("a signal must be of rank 2 or 3");
  const bool is_real = x.rank() == 2 || x.extent(2).is(1), one_sided = call.flag("onesided", true);
  if (!is_real && (one_sided || x.extent(2).equals(2) != true))
    return opaque("a one-sided transform of a complex signal");
  if (call.has(2) && (call.rank(2) != 1 || !call.may_equal(call.shape(2)[0], *length)))
    return opaque("a window of another length than the frame");
  const Dim frames = Dim::floor(x.extent(1) - *length, *step) + Dim(1);
  const Dim bins = one_sided ? Dim::floor(*length, 2) + Dim(1) : *length;
  const auto tables = fourier_tables(f, x.type(), bins, *length);
  const auto part = [&](int which) {
    const auto q = f.axes({x.extent(0), frames, *length});
    const Index at = *step * Index(q[1]) + Index(q[2]);
    const Expr sample = x.rank() == 2 ? x(q[0], at) : x(q[0], at, which);
    return f.stage(q, call.has(2) ? sample * f.input(2)(q[2]) : sample);
  };
  const auto p = f.axes({x.extent(0), frames, bins, 2});
  const Axis n = f.axis(*length);
  const Expr sample = part(0)(p[0], p[1], n), cosine = tables.cosine(p[2], n), sine = tables.sine(p[2], n);
  Expr real = sum({n}, sample * cosine), imaginary = -sum({n}, sample * sine);
  if (!is_real) {
    const Expr other = part(1)(p[0], p[1], n);
    real = real + sum({n}, other * sine);
    imaginary = imaginary + sum({n}, other * cosine);
  }
  f.output(p, cases({{equal_to(p[3], 0), real}}, imaginary));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kSTFT{
    .name = "STFT",
    .doc = "y[b, t, k] = Σ window[n] · x[b, step·t + n] · e^(-2πi·k·n / length)",
    .define = define_stft,
    .since = 17,
    .least_inputs = 2,
    .most_inputs = 4,
};

}  // namespace isomer::ops
