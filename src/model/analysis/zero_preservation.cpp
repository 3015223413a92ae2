#include "model/analysis/analysis.h"

#include <algorithm>

#include "model/expr/scalar_laws.h"

namespace isomer {

namespace {

// Whether a value is zero when every input is; false where that isn't seen.
class ZeroAtZero {
 public:
  explicit ZeroAtZero(const Formula& formula) : formula_(formula) {}
  bool stage(int number) const { return of(*formula_.stages[static_cast<std::size_t>(number)].value); }

 private:
  bool of(const ExprNode& e) const {
    switch (e.kind) {
      case ExprNode::Kind::Number: return e.number == 0 && e.integer == 0;
      case ExprNode::Kind::IndexNumber: return e.index.is_constant() && e.index.offset().is(0);
      case ExprNode::Kind::Read: return e.tensor.kind == TensorRef::Kind::Input || stage(e.tensor.number);
      case ExprNode::Kind::Cases:
        return of(*e.args[0]) &&
               std::ranges::all_of(e.cases, [&](const ExprNode::Case& c) { return of(*c.value); });
      case ExprNode::Kind::Reduce:
        // Over an empty domain a product is 1 and a maximum -inf: only sums, and reductions that are certain
        // to have a point.
        if (e.reduction == Reduction::Sum) return of(*e.args[0]);
        return of(*e.args[0]) && e.domain.empty() && std::ranges::all_of(e.axes, [](const Axis& a) {
                 return a.extent.at_least(1).value_or(false);
               });
      case ExprNode::Kind::Apply: return of_apply(e);
    }
    return false;
  }

  bool of_apply(const ExprNode& e) const {
    const auto zero = [&](std::size_t k) { return of(*e.args[k]); };
    switch (e.fn) {
      case Fn::Add:
      case Fn::Sub:
      case Fn::Max:
      case Fn::Min:
      case Fn::BitAnd:
      case Fn::BitOr:
      case Fn::BitXor:
      case Fn::And:
      case Fn::Or:
      case Fn::Xor: return zero(0) && zero(1);
      case Fn::Mul: return zero(0) || zero(1);
      case Fn::Where: return zero(1) && zero(2);
      case Fn::ShiftLeft:
      case Fn::ShiftRight: return zero(0);
      // A quotient of zero is zero where the divisor isn't: known only of numbers.
      case Fn::Div: return zero(0) && e.args[1]->kind == ExprNode::Kind::Number && !zero(1);
      case Fn::IsNaN:
      case Fn::IsPositiveInf:
      case Fn::IsNegativeInf: return zero(0);
      default: return vanishes_at_zero(e.fn) && zero(0);
    }
  }

  const Formula& formula_;
};

}  // namespace

bool preserves_zero(const Formula& formula, int output) {
  return ZeroAtZero(formula).stage(formula.outputs[static_cast<std::size_t>(output)]);
}

}  // namespace isomer
