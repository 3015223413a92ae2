#include "optimizer/facts/order.h"

#include <algorithm>
#include <map>
#include <set>

#include "model/expr/scalar_laws.h"

namespace isomer {
namespace {

Direction both(Direction a, Direction b) {
  if (a == Direction::Fixed || a == b) return b;
  return b == Direction::Fixed ? a : Direction::Unknown;
}

Direction turned(Direction d) {
  if (d == Direction::Up) return Direction::Down;
  return d == Direction::Down ? Direction::Up : d;
}

class Follower {
 public:
  Follower(const Formula& formula, int input, const std::vector<int>& axes,
           const std::vector<ValueRange>& inputs)
      : formula_(formula), input_(input), along_(axes), inputs_(inputs) {}

  bool keeps_apart() const { return keeps_apart_; }
  // The direction of an expression over these axes of a stage.
  Direction of(const ExprNode& e, const std::vector<Axis>& at) {
    switch (e.kind) {
      case ExprNode::Kind::Number: return Direction::Fixed;
      case ExprNode::Kind::IndexNumber:
      case ExprNode::Kind::Reduce: return changes(e, at) ? Direction::Unknown : Direction::Fixed;
      case ExprNode::Kind::Read: return read(e, at);
      case ExprNode::Kind::Apply: return apply(e, at);
      case ExprNode::Kind::Cases: return Direction::Unknown;
    }
    return Direction::Unknown;
  }

 private:
  bool changes(const ExprNode& e, const std::vector<Axis>& at) const {
    return std::ranges::any_of(along_, [&](int k) { return mentions(e, at[static_cast<std::size_t>(k)]); });
  }
  // Read at the position itself.
  static bool is_here(const ExprNode& e, const std::vector<Axis>& at) {
    if (e.at.size() != at.size()) return false;
    for (std::size_t k = 0; k < at.size(); ++k) {
      const bool is_only = at[k].extent.is_concrete() && at[k].extent.concrete() == 1;
      if (!is_only && e.at[k].as_axis() != at[k]) return false;
    }
    return true;
  }
  Direction read(const ExprNode& e, const std::vector<Axis>& at) {
    if (!changes(e, at)) return Direction::Fixed;
    if (!is_here(e, at)) return Direction::Unknown;
    if (e.tensor.kind == TensorRef::Kind::Input)
      return e.tensor.number == input_ ? Direction::Up : Direction::Unknown;
    const Stage& stage = formula_.stages[static_cast<std::size_t>(e.tensor.number)];
    return of(*stage.value, stage.axes);
  }
  Direction scaled(Direction d, const ValueRange& by) const {
    if (d == Direction::Fixed || by.low >= 0) return d;
    return by.high <= 0 ? turned(d) : Direction::Unknown;
  }
  ValueRange range(const ExprRef& e) const { return interval_of(formula_, *e, inputs_); }

  // A sum rounds small differences away. An exp loses small numbers, and never the largest.
  void note_loss(Fn fn) {
    const Order order = order_of(fn);
    const bool is_algebra = fn == Fn::Mul || fn == Fn::Div || fn == Fn::Sub;
    keeps_apart_ = keeps_apart_ && (is_algebra || fn == Fn::Exp || (order.strict && !order.saturates));
  }

  Direction apply(const ExprNode& e, const std::vector<Axis>& at) {
    std::vector<Direction> d;
    d.reserve(e.args.size());
    for (const ExprRef& a : e.args) d.push_back(of(*a, at));
    if (std::ranges::all_of(d, [](Direction k) { return k == Direction::Fixed; })) return Direction::Fixed;
    note_loss(e.fn);
    switch (e.fn) {
      case Fn::Add:
      case Fn::Max:
      case Fn::Min: return both(d[0], d[1]);
      case Fn::Sub: return both(d[0], turned(d[1]));
      case Fn::Mul: return both(scaled(d[0], range(e.args[1])), scaled(d[1], range(e.args[0])));
      case Fn::Div: {
        const ValueRange by = range(e.args[1]);
        if (d[1] != Direction::Fixed && by.low < 0) return Direction::Unknown;
        return both(scaled(d[0], by), turned(scaled(d[1], range(e.args[0]))));
      }
      // Branches that both rise; that they meet is for the prover to see.
      case Fn::Where: return is_float(e.type) ? both(d[1], d[2]) : Direction::Unknown;
      default: break;
    }
    const int direction = e.args.size() == 1 && is_float(e.type) ? order_of(e.fn).direction : 0;
    if (direction == 0) return Direction::Unknown;
    return direction > 0 ? d[0] : turned(d[0]);
  }

  const Formula& formula_;
  int input_;
  const std::vector<int>& along_;
  const std::vector<ValueRange>& inputs_;
  bool keeps_apart_ = true;
};

// An element of the input, or the largest or smallest of some.
bool is_element(const Formula& formula, int input, const ExprNode& e) {
  if (e.kind == ExprNode::Kind::Reduce)
    return (e.reduction == Reduction::Max || e.reduction == Reduction::Min) &&
           is_element(formula, input, *e.args[0]);
  if (e.kind != ExprNode::Kind::Read) return false;
  if (e.tensor.kind == TensorRef::Kind::Input) return e.tensor.number == input;
  return is_element(formula, input, *formula.stages[static_cast<std::size_t>(e.tensor.number)].value);
}

bool only_compares(const Formula& formula, int input, const ExprNode& e) {
  if (is_element(formula, input, e)) return false;
  const auto is_one = [&](const ExprRef& a) { return is_element(formula, input, *a); };
  const bool compares =
      e.kind == ExprNode::Kind::Apply && (e.fn == Fn::Equal || e.fn == Fn::Less || e.fn == Fn::LessOrEqual);
  if (compares && std::ranges::all_of(e.args, is_one)) return true;
  return std::ranges::all_of(e.args, [&](const ExprRef& a) { return only_compares(formula, input, *a); }) &&
         std::ranges::all_of(
             e.cases, [&](const ExprNode::Case& c) { return only_compares(formula, input, *c.value); });
}

}  // namespace

Following following_along(const Formula& formula, int input, const std::vector<int>& axes,
                          const std::vector<ValueRange>& inputs) {
  const Stage& out = formula.output(0);
  if (!is_float(out.type)) return {};
  Follower follower(formula, input, axes, inputs);
  const Direction direction = follower.of(*out.value, out.axes);
  return {direction, follower.keeps_apart()};
}

std::optional<int> view_of(const Formula& formula) {
  const ExprNode& e = *formula.output(0).value;
  const bool is_view = e.kind == ExprNode::Kind::Read && e.tensor.kind == TensorRef::Kind::Input;
  return is_view ? std::optional(e.tensor.number) : std::nullopt;
}

std::optional<Reduction> extremum_of(const Formula& formula) {
  const ExprNode& e = *formula.output(0).value;
  const bool is_one = e.kind == ExprNode::Kind::Reduce && e.reduction != Reduction::Sum &&
                      e.reduction != Reduction::Product && is_float(e.type) &&
                      e.args[0]->kind == ExprNode::Kind::Read && is_element(formula, 0, e);
  return is_one ? std::optional(e.reduction) : std::nullopt;
}

bool is_arithmetic(const Formula& formula) {
  const ExprNode& e = *formula.output(0).value;
  return e.kind == ExprNode::Kind::Apply &&
         (e.fn == Fn::Add || e.fn == Fn::Sub || e.fn == Fn::Mul || e.fn == Fn::Div);
}

bool reads_order_only(const Formula& formula, int input) {
  return std::ranges::all_of(formula.stages,
                             [&](const Stage& s) {
                               return is_element(formula, input, *s.value) ||
                                      only_compares(formula, input, *s.value);
                             }) &&
         !is_element(formula, input, *formula.output(0).value);
}

}  // namespace isomer
