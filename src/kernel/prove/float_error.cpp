#include "kernel/prove/float_error.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <unordered_map>

#include "model/expr/look_up.h"
#include "model/expr/parts.h"

namespace isomer {
namespace {

struct NotFollowed {};

constexpr double kLibrary = 4;   // units that exp and its like may be off by
constexpr double kSteepest = 2;  // of erf and the functions below it: 2/√π at most

Expr absolute(const Expr& e) { return apply(Fn::Abs, {e}); }
Expr larger(const Expr& a, const Expr& b) { return apply(Fn::Max, {a, b}); }
Expr zero() { return number(ElementType::Double, 0); }
Expr if_zero(const Expr& e, const Expr& yes, const Expr& no) {
  return where(apply(Fn::Equal, {e, zero()}), yes, no);
}

class Errors {
 public:
  // Stages of the formula keep their numbers; the error and the size of each follow.
  Errors(std::size_t inputs, std::size_t stages)
      : inputs_(static_cast<int>(inputs)), stages_(static_cast<int>(stages)) {}

  ExprRef of(const ExprRef& e) {
    if (!is_float(e->type)) return e;
    if (const auto at = done_.find(e.get()); at != done_.end()) return at->second;
    return done_.emplace(e.get(), made(e).ref()).first->second;
  }
  Expr size(const ExprRef& e) {
    return e->kind == ExprNode::Kind::Read ? read(e, kSize) : absolute(Expr(e)) + Expr(of(e));
  }

 private:
  static constexpr int kError = 0, kSize = 1;
  Expr read(const ExprRef& e, int what) const {
    ExprNode node = *e;
    int& number = node.tensor.number;
    number = e->tensor.kind == TensorRef::Kind::Input ? number + inputs_ * (1 + what)
                                                      : stages_ + 2 * number + what;
    return {std::make_shared<const ExprNode>(std::move(node))};
  }

  Expr made(const ExprRef& e) {
    if (e->type != ElementType::Double) throw NotFollowed{};
    ExprNode node = *e;
    switch (e->kind) {
      case ExprNode::Kind::Number: return zero();
      case ExprNode::Kind::IndexNumber: throw NotFollowed{};
      case ExprNode::Kind::Read: return read(e, kError);
      case ExprNode::Kind::Apply: return applied(e);
      case ExprNode::Kind::Reduce: return reduced(e);
      case ExprNode::Kind::Cases: break;
    }
    for (ExprRef& a : node.args) a = of(a);
    for (ExprNode::Case& c : node.cases) c.value = of(c.value);
    return {std::make_shared<const ExprNode>(std::move(node))};
  }

  Expr reduced(const ExprRef& e) {
    const ExprRef& body = e->args[0];
    double count = 1;
    for (const Axis& a : e->axes) count *= static_cast<double>(a.extent.concrete());
    const auto over = [&](Reduction reduction, const Expr& of_body) {
      return reduce(reduction, e->axes, of_body, e->domain);
    };
    switch (e->reduction) {
      case Reduction::Max:
      case Reduction::Min: return over(Reduction::Max, of(body));
      case Reduction::Product: return over(Reduction::Product, size(body)) * count;
      case Reduction::Sum: break;
    }
    // One term is not zero, and nothing is rounded.
    if (as_look_up(*e)) return over(Reduction::Sum, of(body));
    // Two factors and nothing else: such sums are computed quickly.
    if (body->kind == ExprNode::Kind::Apply && body->fn == Fn::Mul)
      return over(Reduction::Sum, size(body->args[0]) * size(body->args[1])) * (count + 1);
    return over(Reduction::Sum, Expr(of(body)) + absolute(Expr(body)) * count);
  }

  Expr applied(const ExprRef& e) {
    const Expr f(e), a(e->args[0]);
    const Expr rounded = absolute(f), library = absolute(f) * kLibrary;
    const auto value = [&](std::size_t k) { return Expr(e->args[k]); };
    const auto error = [&](std::size_t k) { return Expr(of(e->args[k])); };
    switch (e->fn) {
      case Fn::Add:
      case Fn::Sub:
        return error(0) + error(1) +
               if_zero(apply(Fn::Min, {absolute(a), absolute(value(1))}), zero(), rounded);
      case Fn::Mul: return size(e->args[0]) * size(e->args[1]);
      case Fn::Div: return (error(0) + rounded * error(1)) / absolute(value(1)) + rounded;
      case Fn::Neg:
      case Fn::Abs:
      case Fn::Relu: return error(0);
      case Fn::Max:
      case Fn::Min: return larger(error(0), error(1));
      case Fn::Sqrt: return if_zero(error(0), rounded, error(0) / f + rounded);
      case Fn::Exp: return f * error(0) + library;
      case Fn::Log: return error(0) / absolute(a) + library;
      case Fn::Pow: {
        const Expr of_base = absolute(value(1)) * error(0) / absolute(a);
        const Expr of_power = absolute(apply(Fn::Log, {absolute(a)})) * error(1);
        return if_zero(error(0) + error(1), library, rounded * (of_base + of_power) + library);
      }
      case Fn::Erf:
      case Fn::Sigmoid:
      case Fn::Softplus:
      case Fn::Sin:
      case Fn::Cos:
      case Fn::Atan:
      case Fn::Tanh:
      case Fn::Asinh: return error(0) * kSteepest + library;
      case Fn::Where:
        // Where floats decide, both sides agree at the border (last_digits.h).
        return reads_floats(*a) ? larger(error(1), error(2)) : where(a, error(1), error(2));
      case Fn::Cast:
        if (is_float(a.type())) throw NotFollowed{};  // it narrows
        return where(apply(Fn::LessOrEqual, {rounded, number(ElementType::Double, 0x1p53)}), zero(), rounded);
      default: throw NotFollowed{};
    }
  }

  int inputs_, stages_;
  std::unordered_map<const ExprNode*, ExprRef> done_;
};

// Multiples of 2^low, of at most 2^high.
struct Digits {
  int low = 0, high = 0;
};

Digits both(Digits a, Digits b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

Digits digits_of(double number) {
  if (number == 0) return {};
  if (!std::isfinite(number)) throw NotFollowed{};
  int high = 0;
  const double leading = std::ldexp(std::abs(std::frexp(number, &high)), 53);
  return {high - 53 + std::countr_zero(static_cast<std::uint64_t>(leading)), high};
}

class Exactness {
 public:
  explicit Exactness(const std::vector<std::optional<Tensor>>& inputs) : inputs_(inputs) {}
  void add(const Stage& stage) { stages_.push_back(is_float(stage.type) ? of(*stage.value) : Digits{}); }

 private:
  Digits of(const ExprNode& e) {
    if (e.type != ElementType::Double) throw NotFollowed{};
    const Digits out = made(e);
    if (out.high - out.low > 53 || out.low < -1000 || out.high > 1000) throw NotFollowed{};
    return out;
  }
  Digits made(const ExprNode& e) {
    switch (e.kind) {
      case ExprNode::Kind::Number: return digits_of(e.number);
      case ExprNode::Kind::Read: return read(e);
      case ExprNode::Kind::Reduce: return reduced(e);
      case ExprNode::Kind::Apply: return applied(e);
      case ExprNode::Kind::IndexNumber: throw NotFollowed{};
      case ExprNode::Kind::Cases: break;
    }
    Digits out;
    for (const ExprRef& a : e.args) out = both(out, of(*a));
    for (const ExprNode::Case& c : e.cases) out = both(out, of(*c.value));
    return out;
  }
  Digits applied(const ExprNode& e) {
    const Digits a = of(*e.args[0]);
    if (e.fn == Fn::Neg) return a;
    if (e.fn != Fn::Add && e.fn != Fn::Sub && e.fn != Fn::Mul) throw NotFollowed{};
    const Digits b = of(*e.args[1]), all = both(a, b);
    if (e.fn == Fn::Mul) return {a.low + b.low, a.high + b.high};
    return {all.low, all.high + 1};
  }
  Digits read(const ExprNode& e) const {
    const auto number = static_cast<std::size_t>(e.tensor.number);
    if (e.tensor.kind != TensorRef::Kind::Input) return stages_.at(number);
    Digits out;
    for (const double v : inputs_.at(number)->as<double>()) out = both(out, digits_of(v));
    return out;
  }
  Digits reduced(const ExprNode& e) {
    if (e.reduction != Reduction::Sum) throw NotFollowed{};
    Digits out = of(*e.args[0]);
    for (const Axis& a : e.axes)
      out.high += std::ilogb(static_cast<double>(std::max<std::int64_t>(a.extent.concrete(), 1))) + 1;
    return out;
  }

  const std::vector<std::optional<Tensor>>& inputs_;
  std::vector<Digits> stages_;
};

}  // namespace

bool is_computed_exactly(const Formula& formula, const std::vector<std::optional<Tensor>>& inputs) {
  try {
    Exactness exactness(inputs);
    for (const Stage& s : formula.stages) exactness.add(s);
    return true;
  } catch (const NotFollowed&) {
    return false;
  }
}

bool reads_floats(const ExprNode& e) {
  return any_part(
      e, [](const ExprNode& part) { return part.kind == ExprNode::Kind::Read && is_float(part.type); });
}

std::optional<double> unit_roundoff(ElementType type) {
  switch (type) {
    case ElementType::Float: return 0x1p-24;
    case ElementType::Float16: return 0x1p-11;
    case ElementType::BFloat16: return 0x1p-8;
    case ElementType::Double: return 0x1p-53;
    default: return std::nullopt;
  }
}

double smallest_normal(ElementType type) {
  return type == ElementType::Float16 ? 0x1p-14 : type == ElementType::Double ? 0x1p-1022 : 0x1p-126;
}

std::optional<Formula> error_of(const Formula& formula) {
  Formula out = formula;
  for (int k = 0; k < 2; ++k)
    out.inputs.insert(out.inputs.end(), formula.inputs.begin(), formula.inputs.end());
  // A formula of one stage reads only the inputs.
  const bool is_one = formula.stages.size() == 1;
  if (is_one) out.stages.clear();
  Errors errors(formula.inputs.size(), out.stages.size());
  const int before = static_cast<int>(out.stages.size());
  try {
    for (const Stage& s : formula.stages) {
      out.stages.push_back({s.type, s.axes, Expr(errors.of(s.value.ref()))});
      if (!is_one)
        out.stages.push_back({s.type, s.axes, is_float(s.type) ? errors.size(s.value.ref()) : s.value});
    }
  } catch (const NotFollowed&) {
    return std::nullopt;
  }
  for (int& k : out.outputs) k = before + (is_one ? 1 : 2) * k;
  return out;
}

}  // namespace isomer
