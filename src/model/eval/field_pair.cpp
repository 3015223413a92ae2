#include "model/eval/field_pair.h"

#include <cmath>

#include "base/hash.h"

namespace isomer {
namespace {

// A square, and so of order p; not a small number, which e is not.
Zq generator(std::uint64_t key) {
  const Zq root{Zq::fold(mix(key ^ mix(0x4000)))};
  return root * root;
}

// A word that stands for the value: of the first lane it has. Equal values in equal lanes give equal words.
std::uint64_t word(const FieldPair& a) {
  if (a.has_p) return mix(a.p.v);
  return a.has_q ? mix(mix(a.q.v) + 1) : 0;
}

FieldPair keyed(std::uint64_t key, Fn fn, std::uint64_t a, std::uint64_t b = 0) {
  const std::uint64_t x = mix(mix(mix(key ^ mix(0x3000 + static_cast<std::uint64_t>(fn))) ^ a) + b);
  return {.p = {Zp::fold(x)}, .q = {Zq::fold(mix(x ^ 1u))}};
}

FieldPair root(const FieldPair& a, std::uint64_t key) {
  if (!a.has_p) return keyed(key, Fn::Sqrt, word(a));
  return {.p = field_unary(Fn::Sqrt, a.p, key), .has_p = true, .has_q = false, .q = {}};
}

FieldPair power(const FieldPair& a, std::int64_t exponent) {
  const FieldPair base = exponent < 0 ? FieldPair::of(std::int64_t{1}) / a : a;
  FieldPair out = FieldPair::of(std::int64_t{1});
  for (std::int64_t k = 0; k < std::abs(exponent); ++k) out = out * base;
  return out;
}

// A value without a lane is unknown, and so is everything that is computed from it.
bool has_lane(const FieldPair& a) { return a.has_p || a.has_q; }

bool is_same(const FieldPair& a, const FieldPair& b) {
  return a.has_p == b.has_p && a.has_q == b.has_q && (!a.has_p || a.p == b.p) && (!a.has_q || a.q == b.q);
}

bool is_zero(const FieldPair& a) {
  return (a.has_p || a.has_q) && (!a.has_p || a.p.v == 0) && (!a.has_q || a.q.v == 0);
}

}  // namespace

// Mod q too, exactly one of x and -x is a square, and every exp is one.
bool FieldPair::is_positive() const { return has_p ? p.is_positive() : has_q && q.is_positive(); }

Agreement compare(const FieldPair& a, const FieldPair& b) {
  const bool in_p = a.has_p && b.has_p, in_q = a.has_q && b.has_q;
  return {.agree = (!in_p || a.p == b.p) && (!in_q || a.q == b.q), .tested = in_p || in_q};
}

namespace {

FieldPair without_lanes() { return {.p = {}, .has_p = false, .has_q = false, .q = {}}; }

}  // namespace

FieldPair field_unary(Fn fn, const FieldPair& a, std::uint64_t key) {
  if (!has_lane(a)) return a;
  switch (fn) {
    case Fn::Neg: return -a;
    // Without a residue mod p, 3 exp(x) and -3 exp(x) are indistinguishable: no lane is left.
    case Fn::Abs: return !a.has_p ? without_lanes() : a.is_positive() ? a : -a;
    case Fn::Relu: return !a.has_p ? without_lanes() : a.is_positive() ? a : FieldPair{};
    case Fn::Sign:
      if (!a.has_p) return without_lanes();
      return is_zero(a) ? a : FieldPair::of(std::int64_t{a.is_positive() ? 1 : -1});
    case Fn::Sqrt: return root(a, key);
    case Fn::Exp:
      if (!a.has_p) return keyed(key, fn, word(a));
      return {.p = {}, .has_p = false, .has_q = true, .q = generator(key).power(a.p.v)};
    case Fn::Floor:
    case Fn::Ceil:
    case Fn::Round: return a.has_p && a.p.is_small_integer() ? a : keyed(key, fn, word(a));
    case Fn::Log: {
      const FieldPair one = FieldPair::of(std::int64_t{1});
      return compare(a, one).agree ? FieldPair{} : keyed(key, fn, word(a));
    }
    case Fn::Cos:
    case Fn::Cosh:
      return is_zero(a) ? FieldPair::of(std::int64_t{1}) : keyed(key, fn, word(a.is_positive() ? a : -a));
    case Fn::Sin:
    case Fn::Tan:
    case Fn::Asin:
    case Fn::Atan:
    case Fn::Sinh:
    case Fn::Tanh:
    case Fn::Asinh:
    case Fn::Atanh:
    case Fn::Erf:
      if (is_zero(a)) return FieldPair{};
      return a.is_positive() ? keyed(key, fn, word(a)) : -keyed(key, fn, word(-a));
    default: return keyed(key, fn, word(a));
  }
}

FieldPair field_binary(Fn fn, const FieldPair& a, const FieldPair& b, std::uint64_t key) {
  if (!has_lane(a) || !has_lane(b)) return has_lane(a) ? b : a;
  static const FieldPair ends[] = {FieldPair::of(-HUGE_VAL), FieldPair::of(HUGE_VAL)};
  if (fn == Fn::Max || fn == Fn::Min) {
    // Infinities stay the ends of the order.
    const FieldPair &nothing = ends[fn == Fn::Max ? 0 : 1], &all = ends[fn == Fn::Max ? 1 : 0];
    if (is_same(a, all) || is_same(b, nothing)) return a;
    if (is_same(b, all) || is_same(a, nothing)) return b;
    // max(a, 0) = relu(a).
    if (is_zero(a) || is_zero(b)) {
      const FieldPair& other = is_zero(a) ? b : a;
      if (!other.has_p) return without_lanes();
      return other.is_positive() == (fn == Fn::Max) ? other : FieldPair{};
    }
  }
  if (fn == Fn::Max || fn == Fn::Min)
    return (mix(key ^ word(a)) > mix(key ^ word(b))) == (fn == Fn::Max) ? a : b;
  if (fn == Fn::Pow && b.has_p) {
    if (b.p.is_small_integer() && std::abs(b.p.small_integer()) <= 64) return power(a, b.p.small_integer());
    if (b.p == Zp::of(0.5)) return root(a, key);
    if (b.p == Zp::of(-0.5)) return FieldPair::of(std::int64_t{1}) / root(a, key);
  }
  return keyed(key, fn, word(a), word(b));
}

bool field_less(const FieldPair& a, const FieldPair& b) { return (b - a).is_positive(); }

std::int64_t field_to_integer(const FieldPair& a, std::uint64_t key) {
  if (a.has_p && a.p.is_small_integer()) return a.p.small_integer();
  return static_cast<std::int64_t>(keyed(key, Fn::Cast, word(a)).p.v & 0xffffu);
}

}  // namespace isomer
