// Arithmetic mod p = 2^61-1, and keyed functions on it that stand for the reals' functions and obey their
// laws.
//
// "Positive" is read as "quadratic residue": since p = 3 mod 4, exactly one of x and -x is one, products of
// residues are residues, and so relu(s·x) = s·relu(x), |x·y| = |x|·|y| and sqrt(x²) = |x| hold for positive s
// as they do over the reals. Max and min follow a keyed random total order; every other function is a keyed
// random function (odd ones odd). A wrong identity survives a random key with probability about degree/p.
// Idea: the Schwartz-Zippel test, as TASO and Mirage use it.
#pragma once

#include <cstdint>

#include "algebra/expr.h"

namespace isomer {

struct Zp {
  static constexpr std::uint64_t kP = (std::uint64_t{1} << 61u) - 1;
  std::uint64_t v = 0;  // 0 <= v < p
  friend bool operator==(const Zp&, const Zp&) = default;

  static constexpr std::uint64_t fold(std::uint64_t x) {  // x < 2^64 to x mod p
    x = (x & kP) + (x >> 61u);
    return x >= kP ? x - kP : x;
  }
  static constexpr Zp of(std::int64_t x) {
    const Zp size{fold(x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x))};
    return x < 0 ? -size : size;
  }
  static Zp of(double x);  // a float's exact value m·2^e; infinities and NaN are three fixed strange elements

  friend constexpr Zp operator+(Zp a, Zp b) { return {fold(a.v + b.v)}; }
  friend constexpr Zp operator-(Zp a, Zp b) { return {fold(a.v + kP - b.v)}; }
  constexpr Zp operator-() const { return {v == 0 ? 0 : kP - v}; }
  friend constexpr Zp operator*(Zp a, Zp b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a.v) * b.v;
    return {fold(static_cast<std::uint64_t>(product & kP) + static_cast<std::uint64_t>(product >> 61u))};
  }
  friend Zp operator/(Zp a, Zp b) { return a * b.inverse(); }
  Zp power(std::uint64_t exponent) const;
  Zp inverse() const { return power(kP - 2); }  // of zero: zero
  bool is_positive() const;                     // a nonzero quadratic residue
  // As a signed integer, where it is one of less than 2^31 in size.
  bool is_small_integer() const { return v < (1u << 31u) || v > kP - (1u << 31u); }
  std::int64_t small_integer() const {
    return v < (1u << 31u) ? static_cast<std::int64_t>(v)
                           : static_cast<std::int64_t>(v) - static_cast<std::int64_t>(kP);
  }
};

// The keyed stand-in of a pointwise function. Comparisons: a < b iff b - a is positive.
Zp field_unary(Fn fn, Zp a, std::uint64_t key);
Zp field_binary(Fn fn, Zp a, Zp b, std::uint64_t key);  // Pow, Max, Min, Mod, Fmod
bool field_less(Zp a, Zp b);
// Cast to an integer: small integers keep their value, others are keyed.
std::int64_t field_to_integer(Zp a, std::uint64_t key);

// A pseudo-random element: the value that the field witness gives to one coordinate of one tensor.
Zp field_random(std::uint64_t key, std::uint64_t tensor, std::uint64_t coordinate);

}  // namespace isomer
