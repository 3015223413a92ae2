// The scalar functions, once, over every arithmetic: float and double in their own, integers wrapping, Bool,
// and mod p. Both evaluators (Program and evaluate_element) call these and share nothing else.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/check.h"
#include "model/eval/field.h"
#include "model/eval/field_pair.h"
#include "model/expr/element_type.h"
#include "model/expr/expr.h"

namespace isomer {

// The inputs of a computation besides its operands, and its reports.
struct ScalarContext {
  std::uint64_t key = 0;         // of the field's functions
  bool divided_by_zero = false;  // integers only
};

// Calls f with a value of the C++ type that computes the element type: float for the 16-bit floats, uint8_t
// for Bool.
template <class F>
decltype(auto) with_compute_type(ElementType type, F&& f) {
  switch (type) {
    case ElementType::Double: return f(double{});
    case ElementType::Int8: return f(std::int8_t{});
    case ElementType::Int16: return f(std::int16_t{});
    case ElementType::Int32: return f(std::int32_t{});
    case ElementType::Int64: return f(std::int64_t{});
    case ElementType::Uint8:
    case ElementType::Bool: return f(std::uint8_t{});
    case ElementType::Uint16: return f(std::uint16_t{});
    case ElementType::Uint32: return f(std::uint32_t{});
    case ElementType::Uint64: return f(std::uint64_t{});
    case ElementType::Field: return f(Zp{});
    case ElementType::FieldPair: return f(FieldPair{});
    case ElementType::Float:
    case ElementType::Float16:
    case ElementType::BFloat16: return f(float{});
    default: ISOMER_UNREACHABLE("not a computable type");
  }
}

namespace scalar {

template <class T>
concept Real = std::floating_point<T>;
template <class T>
concept Whole = std::integral<T>;
template <class T>
concept Finite = std::same_as<T, Zp> || std::same_as<T, FieldPair>;

// Wrapping arithmetic: through unsigned 64 bits, then cut to the type.
template <Whole T>
constexpr T wrap(std::uint64_t x) {
  return static_cast<T>(x);
}
template <Whole T>
constexpr std::uint64_t widen(T x) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
}

template <Fn fn, Real T>
inline T unary(T a, ScalarContext&) {
  if constexpr (fn == Fn::Neg) return -a;
  else if constexpr (fn == Fn::Abs) return std::fabs(a);
  else if constexpr (fn == Fn::Relu) return a < 0 ? T{0} : a;  // NaN stays
  else if constexpr (fn == Fn::Sign) return std::isnan(a) ? a : static_cast<T>((a > 0) - (a < 0));
  else if constexpr (fn == Fn::Exp) return std::exp(a);
  else if constexpr (fn == Fn::Log) return std::log(a);
  else if constexpr (fn == Fn::Sqrt) return std::sqrt(a);
  else if constexpr (fn == Fn::Floor) return std::floor(a);
  else if constexpr (fn == Fn::Ceil) return std::ceil(a);
  else if constexpr (fn == Fn::Round) return std::nearbyint(a);  // half to even in the default rounding mode
  else if constexpr (fn == Fn::Erf) return std::erf(a);
  else if constexpr (fn == Fn::Sigmoid) {
    // Never the exponential of a large positive number.
    if (a >= 0) return 1 / (1 + std::exp(-a));
    const T e = std::exp(a);
    return e / (1 + e);
  } else if constexpr (fn == Fn::Softplus)
    return a > 0 ? a + std::log1p(std::exp(-a)) : std::log1p(std::exp(a));
  else if constexpr (fn == Fn::Sin) return std::sin(a);
  else if constexpr (fn == Fn::Cos) return std::cos(a);
  else if constexpr (fn == Fn::Tan) return std::tan(a);
  else if constexpr (fn == Fn::Asin) return std::asin(a);
  else if constexpr (fn == Fn::Acos) return std::acos(a);
  else if constexpr (fn == Fn::Atan) return std::atan(a);
  else if constexpr (fn == Fn::Sinh) return std::sinh(a);
  else if constexpr (fn == Fn::Cosh) return std::cosh(a);
  else if constexpr (fn == Fn::Tanh) return std::tanh(a);
  else if constexpr (fn == Fn::Asinh) return std::asinh(a);
  else if constexpr (fn == Fn::Acosh) return std::acosh(a);
  else if constexpr (fn == Fn::Atanh) return std::atanh(a);
  else ISOMER_UNREACHABLE("not a unary function of reals");
}

template <Fn fn, Whole T>
inline T unary(T a, ScalarContext&) {
  if constexpr (fn == Fn::Neg) return wrap<T>(0 - widen(a));
  else if constexpr (fn == Fn::Abs) return a < 0 ? wrap<T>(0 - widen(a)) : a;
  else if constexpr (fn == Fn::Relu) return a < 0 ? T{0} : a;
  else if constexpr (fn == Fn::Sign) return static_cast<T>((a > 0) - (a < 0));
  else if constexpr (fn == Fn::BitNot) return static_cast<T>(~a);
  else if constexpr (fn == Fn::Not) return static_cast<T>(a == 0);
  else ISOMER_UNREACHABLE("not a unary function of integers");
}

template <Fn fn, Finite T>
inline T unary(T a, ScalarContext& context) {
  return field_unary(fn, a, context.key);
}

template <Fn fn, Real T>
inline T binary(T a, T b, ScalarContext&) {
  if constexpr (fn == Fn::Add) return a + b;
  else if constexpr (fn == Fn::Sub) return a - b;
  else if constexpr (fn == Fn::Mul) return a * b;
  else if constexpr (fn == Fn::Div) return a / b;
  else if constexpr (fn == Fn::Pow) return std::pow(a, b);
  else if constexpr (fn == Fn::Max) return std::isnan(a) || a > b ? a : b;  // NaN wins
  else if constexpr (fn == Fn::Min) return std::isnan(a) || a < b ? a : b;
  else if constexpr (fn == Fn::Fmod) return std::fmod(a, b);
  else if constexpr (fn == Fn::Mod) {
    const T r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  } else ISOMER_UNREACHABLE("not a binary function of reals");
}

template <Whole T>
constexpr T power_of_integer(T base, T exponent) {
  if (exponent < 0)
    return base == 1                          ? T{1}
           : widen(base) == ~std::uint64_t{0} ? static_cast<T>(exponent % 2 != 0 ? -1 : 1)
                                              : T{0};
  std::uint64_t result = 1, square = widen(base);
  for (auto e = static_cast<std::uint64_t>(exponent); e != 0; e >>= 1u, square *= square)
    if ((e & 1u) != 0) result *= square;
  return wrap<T>(result);
}

template <Fn fn, Whole T>
inline T binary(T a, T b, ScalarContext& context) {
  if constexpr (fn == Fn::Add) return wrap<T>(widen(a) + widen(b));
  else if constexpr (fn == Fn::Sub) return wrap<T>(widen(a) - widen(b));
  else if constexpr (fn == Fn::Mul) return wrap<T>(widen(a) * widen(b));
  else if constexpr (fn == Fn::Div || fn == Fn::Mod || fn == Fn::Fmod) {
    if (b == 0) {
      context.divided_by_zero = true;
      return 0;
    }
    if constexpr (std::signed_integral<T>)  // the one quotient that overflows wraps
      if (b == T{-1}) return fn == Fn::Div ? wrap<T>(0 - widen(a)) : T{0};
    const T r = static_cast<T>(a % b);
    if constexpr (fn == Fn::Div) return static_cast<T>(a / b);
    else if constexpr (fn == Fn::Fmod) return r;
    else return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
  } else if constexpr (fn == Fn::Pow) return power_of_integer(a, b);
  else if constexpr (fn == Fn::Max) return a > b ? a : b;
  else if constexpr (fn == Fn::Min) return a < b ? a : b;
  else if constexpr (fn == Fn::BitAnd || fn == Fn::And) return static_cast<T>(a & b);
  else if constexpr (fn == Fn::BitOr || fn == Fn::Or) return static_cast<T>(a | b);
  else if constexpr (fn == Fn::BitXor || fn == Fn::Xor) return static_cast<T>(a ^ b);
  else if constexpr (fn == Fn::ShiftLeft)
    return widen(b) >= sizeof(T) * 8 ? T{0} : wrap<T>(widen(a) << widen(b));
  else if constexpr (fn == Fn::ShiftRight)
    return widen(b) >= sizeof(T) * 8 ? T{0}
                                     : static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) >> widen(b));
  else ISOMER_UNREACHABLE("not a binary function of integers");
}

template <Fn fn, Finite T>
inline T binary(T a, T b, ScalarContext& context) {
  if constexpr (fn == Fn::Add) return a + b;
  else if constexpr (fn == Fn::Sub) return a - b;
  else if constexpr (fn == Fn::Mul) return a * b;
  else if constexpr (fn == Fn::Div) return a / b;
  else return field_binary(fn, a, b, context.key);
}

template <Fn fn, class T>
inline bool compare(T a, T b) {
  if constexpr (std::same_as<T, FieldPair>)
    return fn != Fn::Less && isomer::compare(a, b).agree ? true : fn != Fn::Equal && field_less(a, b);
  else if constexpr (fn == Fn::Equal) return a == b;
  else if constexpr (Finite<T>) return (fn == Fn::LessOrEqual && a == b) || field_less(a, b);
  else if constexpr (fn == Fn::Less) return a < b;
  else return a <= b;
}

template <Fn fn, class T>
inline bool test(T a) {
  if constexpr (!Real<T>) return false;
  else if constexpr (fn == Fn::IsNaN) return std::isnan(a);
  else if constexpr (fn == Fn::IsPositiveInf) return std::isinf(a) && a > 0;
  else return std::isinf(a) && a < 0;
}

// Cast as ONNX Runtime on x86 does it: floats to integers by truncation through 64 bits, out of range the
// smallest value that the conversion gives; to Bool: nonzero. `to_bool` distinguishes Bool from Uint8, which
// share a C++ type.
template <class To, class From>
inline To cast(From a, bool to_bool, ScalarContext& context) {
  if (to_bool) {
    if constexpr (std::same_as<To, std::uint8_t>) {
      if constexpr (Finite<From>) return !compare<Fn::Equal>(a, From{});
      else return a != From{0};
    }
  }
  if constexpr (std::same_as<To, From>) return a;
  else if constexpr (Finite<To> && Finite<From>) {
    ISOMER_UNREACHABLE("one evaluation is in one field");
  } else if constexpr (Finite<To>) {
    if constexpr (Real<From>) return To::of(static_cast<double>(a));
    else if constexpr (std::same_as<From, std::uint64_t>)  // in halves: the upper 63 bits and the last one
      return To::of(static_cast<std::int64_t>(a >> 1u)) * To::of(std::int64_t{2}) +
             To::of(static_cast<std::int64_t>(a & 1u));
    else return To::of(static_cast<std::int64_t>(a));
  } else if constexpr (Finite<From>) {
    return static_cast<To>(field_to_integer(a, context.key));
  } else if constexpr (Whole<To> && Real<From>) {
    if constexpr (std::same_as<To, std::uint64_t>) {
      if (a >= static_cast<From>(0x1p63) && a < static_cast<From>(0x1p64))
        return static_cast<std::uint64_t>(a);
    }
    constexpr bool narrow =
        sizeof(To) < 4 || std::same_as<To, std::int32_t>;  // cvttss2si to 32 bits, then cut
    if constexpr (narrow) {
      if (!(a > static_cast<From>(-0x1p31) - 1 && a < static_cast<From>(0x1p31)))
        return static_cast<To>(std::numeric_limits<std::int32_t>::min());
      return static_cast<To>(static_cast<std::int32_t>(a));
    } else {
      if (!(a >= static_cast<From>(-0x1p63) && a < static_cast<From>(0x1p63)))
        return static_cast<To>(std::numeric_limits<std::int64_t>::min());
      return static_cast<To>(static_cast<std::int64_t>(a));
    }
  } else {
    return static_cast<To>(a);
  }
}

}  // namespace scalar

// Calls f.template operator()<fn>() for a unary or binary arithmetic function, a comparison or a test.
#define ISOMER_CASE(name) \
  case Fn::name: return f.template operator()<Fn::name>()

template <class F>
decltype(auto) with_unary(Fn fn, F&& f) {
  switch (fn) {
    ISOMER_CASE(Neg);
    ISOMER_CASE(Abs);
    ISOMER_CASE(Relu);
    ISOMER_CASE(Sign);
    ISOMER_CASE(Exp);
    ISOMER_CASE(Log);
    ISOMER_CASE(Sqrt);
    ISOMER_CASE(Floor);
    ISOMER_CASE(Ceil);
    ISOMER_CASE(Round);
    ISOMER_CASE(Erf);
    ISOMER_CASE(Sigmoid);
    ISOMER_CASE(Softplus);
    ISOMER_CASE(Sin);
    ISOMER_CASE(Cos);
    ISOMER_CASE(Tan);
    ISOMER_CASE(Asin);
    ISOMER_CASE(Acos);
    ISOMER_CASE(Atan);
    ISOMER_CASE(Sinh);
    ISOMER_CASE(Cosh);
    ISOMER_CASE(Tanh);
    ISOMER_CASE(Asinh);
    ISOMER_CASE(Acosh);
    ISOMER_CASE(Atanh);
    ISOMER_CASE(BitNot);
    ISOMER_CASE(Not);
    default: ISOMER_UNREACHABLE("not a unary function");
  }
}

template <class F>
decltype(auto) with_binary(Fn fn, F&& f) {
  switch (fn) {
    ISOMER_CASE(Add);
    ISOMER_CASE(Sub);
    ISOMER_CASE(Mul);
    ISOMER_CASE(Div);
    ISOMER_CASE(Pow);
    ISOMER_CASE(Max);
    ISOMER_CASE(Min);
    ISOMER_CASE(Mod);
    ISOMER_CASE(Fmod);
    ISOMER_CASE(BitAnd);
    ISOMER_CASE(BitOr);
    ISOMER_CASE(BitXor);
    ISOMER_CASE(And);
    ISOMER_CASE(Or);
    ISOMER_CASE(Xor);
    ISOMER_CASE(ShiftLeft);
    ISOMER_CASE(ShiftRight);
    default: ISOMER_UNREACHABLE("not a binary function");
  }
}

template <class F>
decltype(auto) with_comparison(Fn fn, F&& f) {
  switch (fn) {
    ISOMER_CASE(Equal);
    ISOMER_CASE(Less);
    ISOMER_CASE(LessOrEqual);
    default: ISOMER_UNREACHABLE("not a comparison");
  }
}

template <class F>
decltype(auto) with_test(Fn fn, F&& f) {
  switch (fn) {
    ISOMER_CASE(IsNaN);
    ISOMER_CASE(IsPositiveInf);
    ISOMER_CASE(IsNegativeInf);
    default: ISOMER_UNREACHABLE("not a test");
  }
}
#undef ISOMER_CASE

enum class FnClass : std::uint8_t { Unary, Binary, Comparison, Test, Where, Cast };
constexpr FnClass class_of(Fn fn) {
  switch (fn) {
    case Fn::Where: return FnClass::Where;
    case Fn::Cast: return FnClass::Cast;
    case Fn::Equal:
    case Fn::Less:
    case Fn::LessOrEqual: return FnClass::Comparison;
    case Fn::IsNaN:
    case Fn::IsPositiveInf:
    case Fn::IsNegativeInf: return FnClass::Test;
    case Fn::Add:
    case Fn::Sub:
    case Fn::Mul:
    case Fn::Div:
    case Fn::Pow:
    case Fn::Max:
    case Fn::Min:
    case Fn::Mod:
    case Fn::Fmod:
    case Fn::BitAnd:
    case Fn::BitOr:
    case Fn::BitXor:
    case Fn::And:
    case Fn::Or:
    case Fn::Xor:
    case Fn::ShiftLeft:
    case Fn::ShiftRight: return FnClass::Binary;
    default: return FnClass::Unary;
  }
}

// The identity of a reduction, and its step. Max of nothing is -inf (the lowest integer); mod p that is an
// element which no sum is.
template <class T>
T reduction_start(Reduction r) {
  if constexpr (scalar::Finite<T>) {
    if (r == Reduction::Max) return T::of(-std::numeric_limits<double>::infinity());
    if (r == Reduction::Min) return T::of(std::numeric_limits<double>::infinity());
    return T::of(std::int64_t{r == Reduction::Product ? 1 : 0});
  } else {
    constexpr bool real = std::floating_point<T>;
    switch (r) {
      case Reduction::Sum: return T{0};
      case Reduction::Product: return T{1};
      case Reduction::Max:
        return real ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
      case Reduction::Min: return real ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
    }
    return T{0};
  }
}
constexpr Fn step_of(Reduction r) {
  switch (r) {
    case Reduction::Sum: return Fn::Add;
    case Reduction::Product: return Fn::Mul;
    case Reduction::Max: return Fn::Max;
    case Reduction::Min: return Fn::Min;
  }
  return Fn::Add;
}

}  // namespace isomer
