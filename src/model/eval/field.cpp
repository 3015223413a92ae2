#include "model/eval/field.h"

#include <array>
#include <cmath>
#include <limits>

#include "base/hash.h"
#include "model/eval/field_pair.h"

namespace isomer {
namespace {

Zp keyed(std::uint64_t key, std::uint64_t what, std::uint64_t a, std::uint64_t b = 0) {
  return {Zp::fold(mix(mix(mix(key ^ mix(what)) ^ a) + b))};
}

std::uint64_t code(Fn fn) { return 0x1000 + static_cast<std::uint64_t>(fn); }

// sqrt of a square: the root that is itself a square, |x| for x². Elsewhere (undefined over the reals) a
// keyed value.
Zp root(Zp a, std::uint64_t key) {
  const Zp r = a.power((Zp::kModulus + 1) / 4);
  return r * r == a ? r : keyed(key, code(Fn::Sqrt), a.v);
}

}  // namespace

template <unsigned kBits, std::uint64_t kGap>
Residue<kBits, kGap> Residue<kBits, kGap>::of(double x) {
  // A double is m·2^e with |m| < 2^53, and e from kLeast to 1024 - 53.
  constexpr int kLeast = std::numeric_limits<double>::min_exponent - 2 * 53 + 1;
  static constexpr auto kPowersOfTwo = [] {
    std::array<Residue, static_cast<std::size_t>(1024 - 53 - kLeast + 1)> powers{};
    powers[0] = Residue{2}.inverse().power(static_cast<std::uint64_t>(-kLeast));
    for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] + powers[i - 1];
    return powers;
  }();
  if (!std::isfinite(x)) return {fold(mix(std::isnan(x) ? 1 : x > 0 ? 2 : 3))};
  int exponent = 0;
  const auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(x, &exponent), 53));  // exact
  return of(mantissa) * kPowersOfTwo[static_cast<std::size_t>(exponent - 53 - kLeast)];
}
// Zp and Zq: an instantiation must not name a type by another name.
template Residue<61, 139666593> Residue<61, 139666593>::of(double);
template Residue<62, 279333185> Residue<62, 279333185>::of(double);

Zp field_unary(Fn fn, Zp a, std::uint64_t key) {
  switch (fn) {
    case Fn::Neg: return -a;
    case Fn::Abs: return a.is_positive() ? a : -a;
    case Fn::Relu: return a.is_positive() ? a : Zp{0};
    case Fn::Sign: return a.v == 0 ? a : a.is_positive() ? Zp{1} : -Zp{1};
    case Fn::Sqrt: return root(a, key);
    case Fn::Floor:
    case Fn::Ceil:
    case Fn::Round: return a.is_small_integer() ? a : keyed(key, code(fn), a.v);
    case Fn::Exp: return a.v == 0 ? Zp{1} : keyed(key, code(fn), a.v);
    case Fn::Cos:
    case Fn::Cosh: return a.v == 0 ? Zp{1} : keyed(key, code(fn), a.is_positive() ? a.v : (-a).v);
    case Fn::Log: return a.v == 1 ? Zp{0} : keyed(key, code(fn), a.v);
    case Fn::Sin:
    case Fn::Tan:
    case Fn::Asin:
    case Fn::Atan:
    case Fn::Sinh:
    case Fn::Tanh:
    case Fn::Asinh:
    case Fn::Atanh:
    case Fn::Erf:
      if (a.v == 0) return a;
      return a.is_positive() ? keyed(key, code(fn), a.v) : -keyed(key, code(fn), (-a).v);
    default: return keyed(key, code(fn), a.v);
  }
}

Zp field_binary(Fn fn, Zp a, Zp b, std::uint64_t key) {
  switch (fn) {
    case Fn::Max:
    case Fn::Min: {
      // Infinities stay the ends of the order.
      static const Zp ends[] = {Zp::of(-HUGE_VAL), Zp::of(HUGE_VAL)};
      const Zp nothing = ends[fn == Fn::Max ? 0 : 1], all = ends[fn == Fn::Max ? 1 : 0];
      if (a == all || b == nothing) return a;
      if (b == all || a == nothing) return b;
      // max(a, 0) = relu(a).
      if (a.v == 0 || b.v == 0)
        return (a.v == 0 ? b : a).is_positive() == (fn == Fn::Max) ? (a.v == 0 ? b : a) : Zp{0};
      const bool above = keyed(key, code(Fn::Max), a.v).v > keyed(key, code(Fn::Max), b.v).v;
      return above == (fn == Fn::Max) ? a : b;
    }
    case Fn::Pow: {
      const Zp half = Zp{1} / Zp{2};
      if (b.is_small_integer() && std::abs(b.small_integer()) <= 64) {
        const std::int64_t e = b.small_integer();
        return e < 0 ? a.inverse().power(static_cast<std::uint64_t>(-e))
                     : a.power(static_cast<std::uint64_t>(e));
      }
      if (b == half) return root(a, key);
      if (b == -half) return root(a, key).inverse();
      return keyed(key, code(fn), a.v, b.v);
    }
    default: return keyed(key, code(fn), a.v, b.v);
  }
}

bool field_less(Zp a, Zp b) { return (b - a).is_positive(); }

std::int64_t field_to_integer(Zp a, std::uint64_t key) {
  return a.is_small_integer() ? a.small_integer()
                              : static_cast<std::int64_t>(keyed(key, code(Fn::Cast), a.v).v & 0xffffu);
}

}  // namespace isomer
