#include "model/expr/scalar_laws.h"

#include <algorithm>

namespace isomer {

bool vanishes_at_zero(Fn fn) {
  switch (fn) {
    case Fn::Neg:
    case Fn::Abs:
    case Fn::Relu:
    case Fn::Sign:
    case Fn::Sqrt:
    case Fn::Floor:
    case Fn::Ceil:
    case Fn::Round:
    case Fn::Erf:
    case Fn::Sin:
    case Fn::Tan:
    case Fn::Asin:
    case Fn::Atan:
    case Fn::Sinh:
    case Fn::Tanh:
    case Fn::Asinh:
    case Fn::Atanh:
    case Fn::Cast: return true;
    default: return false;
  }
}

bool is_partial(Fn fn) {
  switch (fn) {
    case Fn::Div:
    case Fn::Log:
    case Fn::Sqrt:
    case Fn::Pow:
    case Fn::Mod:
    case Fn::Fmod:
    case Fn::Tan:
    case Fn::Asin:
    case Fn::Acos:
    case Fn::Acosh:
    case Fn::Atanh:
    case Fn::Cast: return true;  // of an infinite or too large number to an integer
    default: return false;
  }
}

bool is_commutative(Fn fn) {
  switch (fn) {
    case Fn::Add:
    case Fn::Mul:
    case Fn::Max:
    case Fn::Min:
    case Fn::Equal:
    case Fn::And:
    case Fn::Or:
    case Fn::Xor:
    case Fn::BitAnd:
    case Fn::BitOr:
    case Fn::BitXor: return true;
    default: return false;
  }
}

bool is_positively_homogeneous(Fn fn) { return fn == Fn::Relu || fn == Fn::Abs; }

Order order_of(Fn fn) {
  switch (fn) {
    case Fn::Exp:
    case Fn::Erf:
    case Fn::Sigmoid:
    case Fn::Softplus:
    case Fn::Atan:
    case Fn::Tanh: return {.direction = 1, .strict = true, .saturates = true};
    case Fn::Log:
    case Fn::Sqrt:
    case Fn::Asin:
    case Fn::Sinh:
    case Fn::Asinh:
    case Fn::Acosh:
    case Fn::Atanh: return {.direction = 1, .strict = true};
    case Fn::Relu:
    case Fn::Sign:
    case Fn::Floor:
    case Fn::Ceil:
    case Fn::Round: return {.direction = 1};
    case Fn::Neg:
    case Fn::Acos:
    case Fn::Div: return {.direction = -1, .strict = true};
    default: return {};
  }
}

std::optional<Rational> exact_value(Fn fn, ElementType type, const std::vector<Rational>& args) {
  const Rational& a = args[0];
  const Rational b = args.size() > 1 ? args[1] : Rational(0);
  if (!is_float(type)) {
    // Comparisons of floats, too, come here: their arguments' type is not seen.
    const auto is_small = [](const Rational& r) { return r.get_den() == 1 && r >= 0 && r <= 127; };
    if (!std::ranges::all_of(args, is_small) || fn == Fn::Neg) return std::nullopt;
    if (fn == Fn::Div && (b == 0 || Rational(a / b).get_den() != 1)) return std::nullopt;
  }
  const auto truth = [](bool t) { return Rational(t ? 1 : 0); };
  switch (fn) {
    case Fn::Neg: return -a;
    case Fn::Abs: return abs(a);
    case Fn::Relu: return a > 0 ? a : Rational(0);
    case Fn::Sign: return Rational(sgn(a));
    case Fn::Max: return a > b ? a : b;
    case Fn::Min: return a < b ? a : b;
    case Fn::Div:
      if (b == 0) return std::nullopt;
      return a / b;
    case Fn::Exp:
      if (a == 0) return Rational(1);
      return std::nullopt;
    case Fn::Sigmoid:
      if (a == 0) return Rational(1, 2);
      return std::nullopt;
    case Fn::Log:
      if (a == 1) return Rational(0);
      return std::nullopt;
    case Fn::Sqrt:
      if (a == 0 || a == 1) return a;
      return std::nullopt;
    case Fn::Equal: return truth(a == b);
    case Fn::Less: return truth(a < b);
    case Fn::LessOrEqual: return truth(a <= b);
    case Fn::And: return truth(a != 0 && b != 0);
    case Fn::Or: return truth(a != 0 || b != 0);
    case Fn::Xor: return truth((a != 0) != (b != 0));
    case Fn::Not: return truth(a == 0);
    default:
      if (args.size() == 1 && a == 0 && vanishes_at_zero(fn)) return Rational(0);
      return std::nullopt;
  }
}

Sign sign_of(Fn fn, const std::vector<Sign>& args) {
  switch (fn) {
    case Fn::Exp:
    case Fn::Sigmoid:
    case Fn::Softplus: return {.nonnegative = true, .nonzero = true};
    case Fn::Cosh: return {.nonnegative = true, .nonzero = true};
    case Fn::Abs: return {.nonnegative = true, .nonzero = args[0].nonzero};
    case Fn::Relu: return {.nonnegative = true, .nonzero = args[0].positive()};
    case Fn::Sqrt: return {.nonnegative = true, .nonzero = args[0].positive()};
    case Fn::Div:
      return {.nonnegative = args[0].nonnegative && args[1].nonnegative, .nonzero = args[0].nonzero};
    case Fn::Max:
      return {.nonnegative = args[0].nonnegative || args[1].nonnegative,
              .nonzero = args[0].positive() || args[1].positive()};
    case Fn::Min:
      return {.nonnegative = args[0].nonnegative && args[1].nonnegative,
              .nonzero = args[0].positive() && args[1].positive()};
    default: return {};
  }
}

}  // namespace isomer
