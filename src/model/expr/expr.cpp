#include "model/expr/expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"

namespace isomer {
namespace {

struct FnRow {
  Fn fn;
  std::string_view name;
  int arity;
};

constexpr std::array kFns{FnRow{Fn::Add, "add", 2},
                          FnRow{Fn::Sub, "sub", 2},
                          FnRow{Fn::Mul, "mul", 2},
                          FnRow{Fn::Div, "div", 2},
                          FnRow{Fn::Neg, "neg", 1},
                          FnRow{Fn::Abs, "abs", 1},
                          FnRow{Fn::Relu, "relu", 1},
                          FnRow{Fn::Sign, "sign", 1},
                          FnRow{Fn::Exp, "exp", 1},
                          FnRow{Fn::Log, "log", 1},
                          FnRow{Fn::Sqrt, "sqrt", 1},
                          FnRow{Fn::Pow, "pow", 2},
                          FnRow{Fn::Max, "max", 2},
                          FnRow{Fn::Min, "min", 2},
                          FnRow{Fn::Floor, "floor", 1},
                          FnRow{Fn::Ceil, "ceil", 1},
                          FnRow{Fn::Round, "round", 1},
                          FnRow{Fn::Mod, "mod", 2},
                          FnRow{Fn::Fmod, "fmod", 2},
                          FnRow{Fn::Erf, "erf", 1},
                          FnRow{Fn::Sigmoid, "sigmoid", 1},
                          FnRow{Fn::Softplus, "softplus", 1},
                          FnRow{Fn::Sin, "sin", 1},
                          FnRow{Fn::Cos, "cos", 1},
                          FnRow{Fn::Tan, "tan", 1},
                          FnRow{Fn::Asin, "asin", 1},
                          FnRow{Fn::Acos, "acos", 1},
                          FnRow{Fn::Atan, "atan", 1},
                          FnRow{Fn::Sinh, "sinh", 1},
                          FnRow{Fn::Cosh, "cosh", 1},
                          FnRow{Fn::Tanh, "tanh", 1},
                          FnRow{Fn::Asinh, "asinh", 1},
                          FnRow{Fn::Acosh, "acosh", 1},
                          FnRow{Fn::Atanh, "atanh", 1},
                          FnRow{Fn::Equal, "equal", 2},
                          FnRow{Fn::Less, "less", 2},
                          FnRow{Fn::LessOrEqual, "less_or_equal", 2},
                          FnRow{Fn::And, "and", 2},
                          FnRow{Fn::Or, "or", 2},
                          FnRow{Fn::Xor, "xor", 2},
                          FnRow{Fn::Not, "not", 1},
                          FnRow{Fn::IsNaN, "is_nan", 1},
                          FnRow{Fn::IsPositiveInf, "is_positive_inf", 1},
                          FnRow{Fn::IsNegativeInf, "is_negative_inf", 1},
                          FnRow{Fn::BitAnd, "bit_and", 2},
                          FnRow{Fn::BitOr, "bit_or", 2},
                          FnRow{Fn::BitXor, "bit_xor", 2},
                          FnRow{Fn::BitNot, "bit_not", 1},
                          FnRow{Fn::ShiftLeft, "shift_left", 2},
                          FnRow{Fn::ShiftRight, "shift_right", 2},
                          FnRow{Fn::Where, "where", 3},
                          FnRow{Fn::Cast, "cast", 1}};

const FnRow& row(Fn fn) {
  const FnRow& r = kFns[static_cast<std::size_t>(fn)];
  ISOMER_CHECK(r.fn == fn, "the table of functions is in the order of the enumeration");
  return r;
}

bool gives_bool(Fn fn) {
  return fn == Fn::Equal || fn == Fn::Less || fn == Fn::LessOrEqual || fn == Fn::IsNaN ||
         fn == Fn::IsPositiveInf || fn == Fn::IsNegativeInf;
}

bool takes_bool(Fn fn) { return fn == Fn::And || fn == Fn::Or || fn == Fn::Xor || fn == Fn::Not; }
bool takes_integers(Fn fn) { return fn >= Fn::BitAnd && fn <= Fn::ShiftRight; }
bool takes_reals_only(Fn fn) {
  return fn == Fn::Exp || fn == Fn::Log || fn == Fn::Sqrt || (fn >= Fn::Floor && fn <= Fn::Round) ||
         (fn >= Fn::Erf && fn <= Fn::Atanh) || fn == Fn::IsNaN || fn == Fn::IsPositiveInf ||
         fn == Fn::IsNegativeInf;
}

Expr make(ExprNode node) { return {std::make_shared<const ExprNode>(std::move(node))}; }

void check_types(Fn fn, const std::vector<Expr>& args) {
  ISOMER_CHECK(static_cast<int>(args.size()) == arity(fn), std::string(name(fn)));
  const ElementType type = args.back().type();
  const std::string what = fmt::format("{} of {}", name(fn), name(type));
  ISOMER_CHECK(is_computable(type), what);
  for (std::size_t i = fn == Fn::Where ? 1 : 0; i < args.size(); ++i)
    ISOMER_CHECK(args[i].type() == type, what);
  if (fn == Fn::Where) ISOMER_CHECK(args[0].type() == ElementType::Bool, what);
  if (takes_bool(fn)) ISOMER_CHECK(type == ElementType::Bool, what);
  if (takes_integers(fn)) ISOMER_CHECK(is_integer(type), what);
  if (takes_reals_only(fn)) ISOMER_CHECK(is_float(type), what);
  if (!takes_bool(fn) && !gives_bool(fn) && fn != Fn::Where && fn != Fn::Cast)
    ISOMER_CHECK(type != ElementType::Bool, what);
}

}  // namespace

int arity(Fn fn) { return row(fn).arity; }
std::string_view name(Fn fn) { return row(fn).name; }

std::string_view name(Reduction reduction) {
  constexpr std::array kNames{"sum", "product", "max", "min"};
  return kNames[static_cast<std::size_t>(reduction)];
}

Domain equal_to(const Index& a, const Index& b) { return {a - b, b - a}; }
Domain between(const Index& low, const Index& a, const Index& high) { return {a - low, high - a - Index(1)}; }
Domain both(Domain a, const Domain& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Expr number(ElementType type, double value) {
  if (!is_float(type)) {
    ISOMER_CHECK(std::trunc(value) == value && std::abs(value) < 0x1p62, "a whole number");
    return integer(type, static_cast<std::int64_t>(value));
  }
  ExprNode node;
  node.type = type;
  node.number = value;
  return make(std::move(node));
}

Expr integer(ElementType type, std::int64_t value) {
  ISOMER_CHECK(is_computable(type));
  ExprNode node;
  node.type = type;
  if (is_float(type)) node.number = static_cast<double>(value);
  else node.integer = value;
  return make(std::move(node));
}

Expr index_number(const Index& index, ElementType type) {
  if (!is_integer(type)) return cast(index_number(index), type);
  ExprNode node;
  node.kind = ExprNode::Kind::IndexNumber;
  node.type = type;
  node.index = index;
  return make(std::move(node));
}

Expr read(TensorRef tensor, ElementType type, Dims extents, std::vector<Index> at) {
  ISOMER_CHECK(extents.size() == at.size(), "one index per axis of the tensor");
  ExprNode node;
  node.kind = ExprNode::Kind::Read;
  node.type = type;
  node.tensor = tensor;
  node.extents = std::move(extents);
  node.at = std::move(at);
  return make(std::move(node));
}

Expr apply(Fn fn, std::vector<Expr> args) {
  ISOMER_CHECK(fn != Fn::Cast, "use cast()");
  check_types(fn, args);
  ExprNode node;
  node.kind = ExprNode::Kind::Apply;
  node.type = gives_bool(fn) ? ElementType::Bool : args.back().type();
  node.fn = fn;
  for (const Expr& a : args) node.args.push_back(a.ref());
  return make(std::move(node));
}

Expr cast(const Expr& a, ElementType to) {
  ISOMER_CHECK(is_computable(to));
  if (a.type() == to) return a;
  ExprNode node;
  node.kind = ExprNode::Kind::Apply;
  node.type = to;
  node.fn = Fn::Cast;
  node.args = {a.ref()};
  return make(std::move(node));
}

Expr where(const Expr& condition, const Expr& yes, const Expr& no) {
  return apply(Fn::Where, {condition, yes, no});
}

Expr cases(std::vector<std::pair<Domain, Expr>> list, const Expr& otherwise) {
  ExprNode node;
  node.kind = ExprNode::Kind::Cases;
  node.type = otherwise.type();
  for (auto& [when, value] : list) {
    ISOMER_CHECK(value.type() == otherwise.type());
    node.cases.push_back({std::move(when), value.ref()});
  }
  node.args = {otherwise.ref()};
  return make(std::move(node));
}

Expr reduce(Reduction reduction, std::vector<Axis> axes, const Expr& body, Domain domain) {
  ISOMER_CHECK(body.type() != ElementType::Bool);
  ExprNode node;
  node.kind = ExprNode::Kind::Reduce;
  node.type = body.type();
  node.reduction = reduction;
  node.axes = std::move(axes);
  node.domain = std::move(domain);
  node.args = {body.ref()};
  return make(std::move(node));
}

Expr sum(std::vector<Axis> axes, const Expr& body, Domain domain) {
  return reduce(Reduction::Sum, std::move(axes), body, std::move(domain));
}

Expr operator+(const Expr& a, const Expr& b) { return apply(Fn::Add, {a, b}); }
Expr operator-(const Expr& a, const Expr& b) { return apply(Fn::Sub, {a, b}); }
Expr operator*(const Expr& a, const Expr& b) { return apply(Fn::Mul, {a, b}); }
Expr operator/(const Expr& a, const Expr& b) { return apply(Fn::Div, {a, b}); }
Expr operator-(const Expr& a) { return apply(Fn::Neg, {a}); }
Expr operator+(const Expr& a, double b) { return a + number(a.type(), b); }
Expr operator-(const Expr& a, double b) { return a - number(a.type(), b); }
Expr operator*(const Expr& a, double b) { return a * number(a.type(), b); }
Expr operator/(const Expr& a, double b) { return a / number(a.type(), b); }
Expr operator-(double a, const Expr& b) { return number(b.type(), a) - b; }
Expr operator/(double a, const Expr& b) { return number(b.type(), a) / b; }

bool mentions(const ExprNode& expr, const Axis& axis) {
  const auto in = [&](const std::vector<Index>& list) {
    return std::ranges::any_of(list, [&](const Index& i) { return i.mentions(axis); });
  };
  return expr.index.mentions(axis) || in(expr.at) || in(expr.domain) ||
         std::ranges::any_of(
             expr.cases, [&](const ExprNode::Case& c) { return in(c.when) || mentions(*c.value, axis); }) ||
         std::ranges::any_of(expr.args, [&](const ExprRef& a) { return mentions(*a, axis); });
}

namespace {

std::string text(const Domain& domain) {
  std::string out;
  for (const Index& i : domain) out += fmt::format("{}{} >= 0", out.empty() ? "" : " and ", i.text());
  return out.empty() ? "always" : out;
}

std::string text(const ExprNode& e) {
  switch (e.kind) {
    case ExprNode::Kind::Number:
      return is_float(e.type) ? fmt::format("{}", e.number) : fmt::format("{}", e.integer);
    case ExprNode::Kind::IndexNumber: return fmt::format("<{}>", e.index.text());
    case ExprNode::Kind::Read: {
      std::string at;
      for (const Index& i : e.at) at += (at.empty() ? "" : ", ") + i.text();
      return fmt::format("{}{}[{}]", e.tensor.kind == TensorRef::Kind::Input ? 'x' : 's', e.tensor.number,
                         at);
    }
    case ExprNode::Kind::Apply: {
      std::string args;
      for (const ExprRef& a : e.args) args += (args.empty() ? "" : ", ") + text(*a);
      return e.fn == Fn::Cast ? fmt::format("{}({})", name(e.type), args)
                              : fmt::format("{}({})", name(e.fn), args);
    }
    case ExprNode::Kind::Cases: {
      std::string out = "{";
      for (const ExprNode::Case& c : e.cases) out += fmt::format("{} if {}; ", text(*c.value), text(c.when));
      return out + text(*e.args[0]) + " otherwise}";
    }
    case ExprNode::Kind::Reduce: {
      std::string axes;
      for (const Axis& a : e.axes)
        axes += fmt::format("{}a{}<{}", axes.empty() ? "" : ", ", a.id, a.extent.text());
      return fmt::format("{}({}{}{}: {})", name(e.reduction), axes, e.domain.empty() ? "" : " where ",
                         e.domain.empty() ? "" : text(e.domain), text(*e.args[0]));
    }
  }
  return {};
}

}  // namespace

std::string text(const Expr& expr) { return text(*expr); }

}  // namespace isomer
