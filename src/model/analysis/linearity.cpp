#include "model/analysis/analysis.h"

#include <algorithm>
#include <map>

#include "base/check.h"

namespace isomer {

namespace {

// How a value depends on some inputs. Zero is the constant 0, which is linear and independent at once.
enum class Dependence : std::uint8_t { Zero, Independent, Linear, Affine, Nonlinear };

Dependence add(Dependence a, Dependence b) {
  if (a == Dependence::Zero) return b;
  if (b == Dependence::Zero || a == b) return a;
  if (a == Dependence::Nonlinear || b == Dependence::Nonlinear) return Dependence::Nonlinear;
  return Dependence::Affine;  // two different ones of independent, linear and affine
}

Dependence multiply(Dependence a, Dependence b) {
  if (a == Dependence::Zero || b == Dependence::Zero) return Dependence::Zero;
  if (a == Dependence::Independent) return b;
  if (b == Dependence::Independent) return a;
  return Dependence::Nonlinear;
}

bool is_free(Dependence d) { return d == Dependence::Zero || d == Dependence::Independent; }

class DependenceOn {
 public:
  DependenceOn(const Formula& formula, const std::set<int>& inputs) : formula_(formula), inputs_(inputs) {}

  Dependence stage(int number) {
    const auto at = known_.find(number);
    if (at != known_.end()) return at->second;
    const Dependence d = of(*formula_.stages[static_cast<std::size_t>(number)].value);
    return known_.emplace(number, d).first->second;
  }

 private:
  Dependence of(const ExprNode& e) {
    switch (e.kind) {
      case ExprNode::Kind::Number:
        return e.number == 0 && e.integer == 0 ? Dependence::Zero : Dependence::Independent;
      case ExprNode::Kind::IndexNumber: return Dependence::Independent;
      case ExprNode::Kind::Read:
        if (e.tensor.kind == TensorRef::Kind::Stage) return stage(e.tensor.number);
        return inputs_.contains(e.tensor.number) ? Dependence::Linear : Dependence::Independent;
      case ExprNode::Kind::Cases: {
        Dependence d = of(*e.args[0]);
        for (const ExprNode::Case& c : e.cases) d = add(d, of(*c.value));
        return d;
      }
      case ExprNode::Kind::Reduce: {
        const Dependence d = of(*e.args[0]);
        const auto is_one = [](const Axis& a) { return a.extent.is(1); };
        const bool is_body = e.domain.empty() && std::ranges::all_of(e.axes, is_one);  // of one point
        if (e.reduction == Reduction::Sum || is_body) return d;
        return is_free(d) ? Dependence::Independent : Dependence::Nonlinear;
      }
      case ExprNode::Kind::Apply: return of_apply(e);
    }
    return Dependence::Nonlinear;
  }

  Dependence of_apply(const ExprNode& e) {
    std::vector<Dependence> d;
    for (const ExprRef& a : e.args) d.push_back(of(*a));
    if (std::ranges::all_of(d, is_free))
      return all_zero_stays_zero(e.fn, d) ? Dependence::Zero : Dependence::Independent;
    switch (e.fn) {
      case Fn::Add:
      case Fn::Sub: return add(d[0], d[1]);
      case Fn::Neg: return d[0];
      case Fn::Mul: return multiply(d[0], d[1]);
      case Fn::Div: return is_float(e.type) && is_free(d[1]) ? d[0] : Dependence::Nonlinear;
      case Fn::Where: return is_free(d[0]) ? add(d[1], d[2]) : Dependence::Nonlinear;
      // Between float types it is the identity over the reals; anything else rounds or wraps.
      case Fn::Cast: return is_float(e.type) && is_float(e.args[0]->type) ? d[0] : Dependence::Nonlinear;
      default: return Dependence::Nonlinear;
    }
  }

  static bool all_zero_stays_zero(Fn fn, const std::vector<Dependence>& d) {
    const auto zero = [&](std::size_t k) { return d[k] == Dependence::Zero; };
    switch (fn) {
      case Fn::Add:
      case Fn::Sub: return zero(0) && zero(1);
      case Fn::Mul: return zero(0) || zero(1);
      case Fn::Neg: return zero(0);
      case Fn::Where: return zero(1) && zero(2);
      default: return false;
    }
  }

  const Formula& formula_;
  const std::set<int>& inputs_;
  std::map<int, Dependence> known_;
};

}  // namespace

Linearity linearity(const Formula& formula, int output, int input) {
  return linearity(formula, output, std::set<int>{input});
}

Linearity linearity(const Formula& formula, int output, const std::set<int>& inputs) {
  switch (DependenceOn(formula, inputs).stage(formula.outputs[static_cast<std::size_t>(output)])) {
    case Dependence::Zero:
    case Dependence::Independent: return Linearity::Independent;
    case Dependence::Linear: return Linearity::Linear;
    case Dependence::Affine: return Linearity::Affine;
    case Dependence::Nonlinear: return Linearity::Nonlinear;
  }
  ISOMER_UNREACHABLE("every dependence is a linearity");
}

}  // namespace isomer
