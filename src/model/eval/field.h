// Arithmetic mod a prime p just below 2^61, and keyed functions on it that stand for the reals' functions and
// obey their laws.
//
// "Positive" is read as "square": since p = 3 mod 4, exactly one of x and -x is one, products of squares are
// squares, and so relu(s·x) = s·relu(x), |x·y| = |x|·|y| and sqrt(x²) = |x| hold for positive s as they do
// over the reals. Small numbers have the sign that they have there; a sum of positive numbers need not be
// positive. Max and min follow a keyed random total order; every other function is a keyed random function
// (odd ones odd). A wrong identity survives a random key with probability about degree/p. Idea: the
// Schwartz-Zippel test, as TASO and Mirage use it.
#pragma once

#include <bit>
#include <cstdint>

#include "base/uint128.h"
#include "model/expr/expr.h"

namespace isomer {

// Integers mod 2^kBits - kGap. With a small gap, 2^kBits is kGap: what lies above kBits bits is folded in
// twice.
template <unsigned kBits, std::uint64_t kGap>
struct Residue {
  using Wide = Uint128;
  static constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1, kModulus = kMask - kGap + 1;
  static_assert(kBits < 63 && kGap < (1u << 29u));  // for the bounds below

  std::uint64_t v = 0;  // 0 <= v < kModulus
  friend bool operator==(const Residue&, const Residue&) = default;

  // x mod kModulus: of x < 2·kModulus; of any word; of x < 2^(2·kBits).
  static constexpr std::uint64_t less(std::uint64_t x) { return x >= kModulus ? x - kModulus : x; }
  static constexpr std::uint64_t fold(std::uint64_t x) { return less((x & kMask) + (x >> kBits) * kGap); }
  static constexpr Residue reduce(Wide x) {
    const Wide once = (x & kMask) + Wide{static_cast<std::uint64_t>(x >> kBits)} * kGap;  // < 2^(kBits + 30)
    return {
        less((static_cast<std::uint64_t>(once) & kMask) + static_cast<std::uint64_t>(once >> kBits) * kGap)};
  }
  // Congruent to x, and of fewer than 158 - kBits bits.
  static constexpr Wide shorten(Wide x) { return (x & kMask) + (x >> kBits) * kGap; }
  static constexpr Residue of(std::int64_t x) {
    const Residue size{fold(x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x))};
    return x < 0 ? -size : size;
  }
  // A float's exact value m·2^e; infinities and NaN are three fixed strange elements.
  static Residue of(double x);

  friend constexpr Residue operator+(Residue a, Residue b) { return {less(a.v + b.v)}; }
  friend constexpr Residue operator-(Residue a, Residue b) { return {less(a.v + kModulus - b.v)}; }
  constexpr Residue operator-() const { return {v == 0 ? 0 : kModulus - v}; }
  friend constexpr Residue operator*(Residue a, Residue b) { return reduce(Wide{a.v} * b.v); }
  friend constexpr Residue operator/(Residue a, Residue b) { return a * b.inverse(); }
  constexpr Residue power(std::uint64_t exponent) const {
    Residue result{1}, square = *this;
    for (; exponent != 0; exponent >>= 1u) {
      if ((exponent & 1u) != 0) result = result * square;
      square = square * square;
    }
    return result;
  }
  constexpr Residue inverse() const { return power(kModulus - 2); }  // of zero: zero
  // Whether it is a nonzero square: the Jacobi symbol, by halving and subtracting, without branches, since
  // they would go either way. Bit 1 of `sign` counts: 2 is no square of n = 3 or 5 mod 8, and a square of n
  // is one of a and conversely, but where both are 3 mod 4.
  constexpr bool is_positive() const {
    std::uint64_t a = v, n = kModulus, sign = 0;
    while (a != 0) {
      const int twos = std::countr_zero(a);
      a >>= static_cast<unsigned>(twos);
      sign ^= (n ^ (n >> 1u)) & (static_cast<std::uint64_t>(twos) << 1u);
      const bool swap = a < n;
      const std::uint64_t difference = a - n;
      sign ^= swap ? a & n : 0;
      n = swap ? a : n;
      a = swap ? 0 - difference : difference;
    }
    return n == 1 && (sign & 2u) == 0;
  }
  // As a signed integer, where it is one of less than 2^31 in size.
  constexpr bool is_small_integer() const { return v < (1u << 31u) || v > kModulus - (1u << 31u); }
  constexpr std::int64_t small_integer() const {
    return v < (1u << 31u) ? static_cast<std::int64_t>(v)
                           : static_cast<std::int64_t>(v) - static_cast<std::int64_t>(kModulus);
  }
};

// p: all primes up to 83 are squares, so that whole numbers up to 88 and their quotients are positive; p = 3
// mod 4; and 2p + 1 is prime too, for exp (field_pair.h). Among the gaps below 2^29, this one has the most
// primes; field_test.cpp derives these statements.
using Zp = Residue<61, 139666593>;

// The keyed stand-in of a pointwise function. Comparisons: a < b iff b - a is positive.
Zp field_unary(Fn fn, Zp a, std::uint64_t key);
Zp field_binary(Fn fn, Zp a, Zp b, std::uint64_t key);  // Pow, Max, Min, Mod, Fmod
bool field_less(Zp a, Zp b);
// Cast to an integer: small integers keep their value, others are keyed.
std::int64_t field_to_integer(Zp a, std::uint64_t key);

}  // namespace isomer
