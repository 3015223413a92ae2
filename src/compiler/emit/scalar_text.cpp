#include "compiler/emit/scalar_text.h"

#include <fmt/format.h>

#include <cmath>

#include "base/check.h"

namespace isomer::lower {
namespace {

constexpr std::int64_t kLongSum = 1024;

bool is_half(ElementType type) { return type == ElementType::Float16 || type == ElementType::BFloat16; }

std::string literal(double value, ElementType type) {
  const bool is_double = type == ElementType::Double;
  if (std::isnan(value)) return is_double ? "(double)NAN" : "(float)NAN";
  if (std::isinf(value))
    return fmt::format("({}{})", value < 0 ? "-" : "", is_double ? "(double)INFINITY" : "(float)INFINITY");
  std::string digits = is_double ? fmt::format("{:a}", value)
                                 : fmt::format("{:a}", static_cast<double>(static_cast<float>(value)));
  return "(" + digits + (is_double ? ")" : "f)");
}

std::string literal(std::int64_t value, ElementType type) {
  if (type == ElementType::Uint64) return fmt::format("((uint64_t){}ull)", static_cast<std::uint64_t>(value));
  if (value == INT64_MIN) return "INT64_MIN";
  return fmt::format("(({}){})", c_type(type), value);
}

std::string extremum_text(const ExprNode& e, const std::vector<std::string>& a) {
  const std::string of = c_type(e.args[0]->type);
  for (const std::size_t k : {std::size_t{1}, std::size_t{0}})
    if (is_plain_number(*e.args[k]))
      return fmt::format("{}<{}>({}, {})", e.fn == Fn::Max ? "im_above" : "im_below", of, a[1 - k], a[k]);
  return fmt::format("{}<{}>({}, {})", e.fn == Fn::Max ? "im_max" : "im_min", of, a[0], a[1]);
}

std::string arithmetic_text(const ExprNode& e, const std::vector<std::string>& a) {
  const std::string type = c_type(e.type), of = c_type(e.args[0]->type);
  const bool is_real = is_float(e.args[0]->type);
  const auto with = [&](char op) {
    return is_real ? fmt::format("{} {} {}", a[0], op, a[1])
                   : fmt::format("({0})((uint64_t){1} {2} (uint64_t){3})", type, a[0], op, a[1]);
  };
  switch (e.fn) {
    case Fn::Add: return with('+');
    case Fn::Sub: return with('-');
    case Fn::Mul: return with('*');
    case Fn::Div:
      return is_real ? fmt::format("{} / {}", a[0], a[1])
                     : fmt::format("im_div<{}>({}, {})", type, a[0], a[1]);
    case Fn::Neg: return is_real ? "-" + a[0] : fmt::format("({})(0 - (uint64_t){})", type, a[0]);
    case Fn::Mod: return fmt::format("im_mod({}, {})", a[0], a[1]);
    case Fn::Fmod: return fmt::format("im_fmod({}, {})", a[0], a[1]);
    case Fn::Pow: return fmt::format("im_pow({}, {})", a[0], a[1]);
    case Fn::Max:
    case Fn::Min: return extremum_text(e, a);
    case Fn::Abs: return is_real ? fmt::format("im_abs({})", a[0]) : fmt::format("im_abs<{}>({})", of, a[0]);
    case Fn::Relu: return fmt::format("im_relu<{}>({})", of, a[0]);
    case Fn::Sign: return fmt::format("im_sign<{}>({})", of, a[0]);
    case Fn::Cast: ISOMER_UNREACHABLE("a cast is written elsewhere");
    default: return fmt::format("im_{}({})", isomer::name(e.fn), a[0]);
  }
}

}  // namespace

std::string c_type(ElementType type) { return is_half(type) ? "float" : stored_type(type); }

std::string stored_type(ElementType type) {
  switch (type) {
    case ElementType::Float: return "float";
    case ElementType::Double: return "double";
    case ElementType::Int8: return "int8_t";
    case ElementType::Int16: return "int16_t";
    case ElementType::Int32: return "int32_t";
    case ElementType::Int64: return "int64_t";
    case ElementType::Bool:
    case ElementType::Uint8: return "uint8_t";
    case ElementType::Uint16:
    case ElementType::Float16:
    case ElementType::BFloat16: return "uint16_t";
    case ElementType::Uint32: return "uint32_t";
    case ElementType::Uint64: return "uint64_t";
    default: ISOMER_UNREACHABLE("not a computable type");
  }
}

std::string number_text(const ExprNode& e) {
  return is_float(e.type) ? literal(e.number, e.type) : literal(e.integer, e.type);
}

bool is_plain_number(const ExprNode& e) {
  return e.kind == ExprNode::Kind::Number && !(is_float(e.type) && std::isnan(e.number));
}

std::string apply_text(const ExprNode& e, const std::vector<std::string>& a) {
  const std::string type = c_type(e.type);
  const bool is_real = is_float(e.args[0]->type);
  switch (e.fn) {
    case Fn::Equal: return fmt::format("(uint8_t)({} == {})", a[0], a[1]);
    case Fn::Less: return fmt::format("(uint8_t)({} < {})", a[0], a[1]);
    case Fn::LessOrEqual: return fmt::format("(uint8_t)({} <= {})", a[0], a[1]);
    case Fn::And:
    case Fn::BitAnd: return fmt::format("({})({} & {})", type, a[0], a[1]);
    case Fn::Or:
    case Fn::BitOr: return fmt::format("({})({} | {})", type, a[0], a[1]);
    case Fn::Xor:
    case Fn::BitXor: return fmt::format("({})({} ^ {})", type, a[0], a[1]);
    case Fn::Not: return fmt::format("(uint8_t)({} == 0)", a[0]);
    case Fn::BitNot: return fmt::format("({})~{}", type, a[0]);
    case Fn::ShiftLeft: return fmt::format("im_shift_left<{}>({}, {})", type, a[0], a[1]);
    case Fn::ShiftRight: return fmt::format("im_shift_right<{}>({}, {})", type, a[0], a[1]);
    case Fn::IsNaN: return is_real ? fmt::format("(uint8_t)({0} != {0})", a[0]) : "(uint8_t)0";
    case Fn::IsPositiveInf: return is_real ? fmt::format("(uint8_t)({} == INFINITY)", a[0]) : "(uint8_t)0";
    case Fn::IsNegativeInf: return is_real ? fmt::format("(uint8_t)({} == -INFINITY)", a[0]) : "(uint8_t)0";
    case Fn::Where: return fmt::format("{} ? {} : {}", a[0], a[1], a[2]);
    default: return arithmetic_text(e, a);
  }
}

std::string cast_text(ElementType from, ElementType to, const std::string& a) {
  if (from == to) return a;
  if (to == ElementType::Bool) return fmt::format("(uint8_t)({} != 0)", a);
  if (to == ElementType::Float16) return fmt::format("im_from_half(im_to_half((float){}))", a);
  if (to == ElementType::BFloat16) return fmt::format("im_from_bfloat(im_to_bfloat((float){}))", a);
  if (is_float(from) && !is_float(to)) return fmt::format("im_to_integer<{}>({})", c_type(to), a);
  return fmt::format("({}){}", c_type(to), a);
}

std::string combine_text(Reduction reduction, const std::string& a, const std::string& b) {
  switch (reduction) {
    case Reduction::Sum: return fmt::format("{} + {}", a, b);
    case Reduction::Product: return fmt::format("{} * {}", a, b);
    case Reduction::Max: return fmt::format("im_max({}, {})", a, b);
    case Reduction::Min: return fmt::format("im_min({}, {})", a, b);
  }
  ISOMER_UNREACHABLE("a reduction");
}

std::string start_text(const ExprNode& e) {
  const std::string type = c_type(e.type);
  switch (e.reduction) {
    case Reduction::Sum: return fmt::format("({})0", type);
    case Reduction::Product: return fmt::format("({})1", type);
    case Reduction::Max:
    case Reduction::Min: break;
  }
  const bool is_max = e.reduction == Reduction::Max;
  if (is_float(e.type)) return is_max ? "(float)-INFINITY" : "(float)INFINITY";
  return fmt::format("im_{}_of<{}>()", is_max ? "least" : "most", type);
}

bool is_long_sum(const ExprNode& e) {
  std::int64_t count = 1;
  for (const Axis& a : e.axes) count *= a.extent.value().value_or(1);
  return e.reduction == Reduction::Sum && e.type == ElementType::Float && count >= kLongSum;
}

}  // namespace isomer::lower
