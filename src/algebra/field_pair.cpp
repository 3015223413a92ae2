#include "algebra/field_pair.h"

#include <cmath>

#include "base/hash.h"

namespace isomer {
namespace {

// 3^52: of order p, since q is prime and 3^52 isn't 1.
Zq generator() {
  static const Zq g = Zq{3}.power(52);
  return g;
}

// A word that stands for the value: of the first lane it has. Equal values in equal lanes give equal words.
std::uint64_t word(const FieldPair& a) {
  if (a.has_p) return mix(a.p.v);
  return a.has_q ? mix(mix(static_cast<std::uint64_t>(a.q.v)) + static_cast<std::uint64_t>(a.q.v >> 64u) + 1)
                 : 0;
}

FieldPair keyed(std::uint64_t key, Fn fn, std::uint64_t a, std::uint64_t b = 0) {
  const std::uint64_t x = mix(mix(mix(key ^ mix(0x3000 + static_cast<std::uint64_t>(fn))) ^ a) + b);
  return {.p = {Zp::fold(x)}, .q = {((Zq::Wide{mix(x ^ 1u)} << 64u) | mix(x ^ 2u)) % Zq::kQ}};
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

// Nothing is known any more of a value without a lane, and so of what is made of it.
bool has_lane(const FieldPair& a) { return a.has_p || a.has_q; }

bool is_same(const FieldPair& a, const FieldPair& b) {
  return a.has_p == b.has_p && a.has_q == b.has_q && (!a.has_p || a.p == b.p) && (!a.has_q || a.q == b.q);
}

bool is_zero(const FieldPair& a) {
  return (a.has_p || a.has_q) && (!a.has_p || a.p.v == 0) && (!a.has_q || a.q.v == 0);
}

}  // namespace

Zq Zq::of(std::int64_t x) {
  const Wide size = x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
  return x < 0 ? Zq{} - Zq{size} : Zq{size};
}

Zq Zq::of(double x) {
  if (!std::isfinite(x)) return {mix(std::isnan(x) ? 1 : x > 0 ? 2 : 3)};
  int exponent = 0;
  const auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(x, &exponent), 53));
  exponent -= 53;
  const Zq scale = Zq{2}.power(static_cast<Wide>(std::abs(exponent)));
  return of(mantissa) * (exponent < 0 ? scale.inverse() : scale);
}

Zq operator*(Zq a, Zq b) {
  // 67 bits of b in three pieces of 23: every intermediate is below 2^91.
  Zq::Wide out = 0;
  for (int shift = 46; shift >= 0; shift -= 23)
    out = ((out << 23u) + a.v * ((b.v >> static_cast<unsigned>(shift)) & 0x7fffffu)) % Zq::kQ;
  return {out};
}

Zq Zq::power(Wide exponent) const {
  Zq result{1}, square = *this;
  for (; exponent != 0; exponent >>= 1u) {
    if ((exponent & 1u) != 0) result = result * square;
    square = square * square;
  }
  return result;
}

// Mod q, where -1 is a square, the quartic character tells x from -x: it is 1 or i for one of them, -1 or -i
// for the other, and 1 for every exp.
bool FieldPair::is_positive() const {
  if (has_p) return p.is_positive();
  if (!has_q || q.v == 0) return false;
  static const Zq i = [] {
    Zq root{2};
    while (root.power((Zq::kQ - 1) / 2).v == 1) root.v += 1;  // the first non-square
    return root.power((Zq::kQ - 1) / 4);
  }();
  const Zq character = q.power((Zq::kQ - 1) / 4);
  return character.v == 1 || character == i;
}

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
    // Without a residue mod p nothing tells 3 exp(x) from -3 exp(x): no lane is left.
    case Fn::Abs: return !a.has_p ? without_lanes() : a.is_positive() ? a : -a;
    case Fn::Relu: return !a.has_p ? without_lanes() : a.is_positive() ? a : FieldPair{};
    case Fn::Sign:
      if (!a.has_p) return without_lanes();
      return is_zero(a) ? a : FieldPair::of(std::int64_t{a.is_positive() ? 1 : -1});
    case Fn::Sqrt: return root(a, key);
    case Fn::Exp:
      if (!a.has_p) return keyed(key, fn, word(a));
      return {.p = {}, .has_p = false, .has_q = true, .q = generator().power(a.p.v)};
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
