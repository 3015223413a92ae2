// evaluate_symbolic: a formula's integer elements as expressions over symbolic extents. This is how values
// are followed through Shape-Gather-Concat-Reshape chains: by the operators' own formulas, and by nothing
// else.
#include <map>

#include "algebra/element.h"
#include "base/check.h"

namespace isomer {
namespace {

class SymbolicWalker {
 public:
  SymbolicWalker(const Formula& formula, const std::vector<std::optional<Dims>>& inputs)
      : formula_(formula), inputs_(inputs) {}

  std::optional<Dim> stage(int number, const Extents& position) {
    const Stage& s = formula_.stages[static_cast<std::size_t>(number)];
    const auto outer = axes_;
    for (std::size_t k = 0; k < s.axes.size(); ++k) axes_[s.axes[k].id] = position[k];
    auto value = evaluate(*s.value);
    axes_ = outer;
    return value;
  }

 private:
  Dim at(const Index& index) const {
    return index.substitute([&](const Axis& a) { return Index(axes_.at(a.id)); }).offset();
  }
  std::optional<bool> holds(const Domain& domain) const {
    bool all = true;
    for (const Index& i : domain) {
      const auto one = at(i).at_least(0);
      if (!one) return std::nullopt;
      all = all && *one;
    }
    return all;
  }

  std::optional<Dim> evaluate(const ExprNode& e) {
    switch (e.kind) {
      case ExprNode::Kind::Number: return is_float(e.type) ? std::nullopt : std::optional(Dim(e.integer));
      case ExprNode::Kind::IndexNumber: return at(e.index);
      case ExprNode::Kind::Read: return evaluate_read(e);
      case ExprNode::Kind::Apply: return evaluate_apply(e);
      case ExprNode::Kind::Cases:
        for (const ExprNode::Case& c : e.cases) {
          const auto here = holds(c.when);
          if (!here) return std::nullopt;
          if (*here) return evaluate(*c.value);
        }
        return evaluate(*e.args[0]);
      case ExprNode::Kind::Reduce: return evaluate_reduce(e);
    }
    return std::nullopt;
  }

  std::optional<Dim> evaluate_read(const ExprNode& e) {
    Extents position;
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < e.at.size(); ++d) {
      const Dim index = at(e.at[d]);
      if (!index.is_concrete() || !e.extents[d].is_concrete()) return std::nullopt;
      if (index.concrete() < 0 || index.concrete() >= e.extents[d].concrete()) return Dim(0);
      position.push_back(index.concrete());
      offset = checked_add(checked_multiply(offset, e.extents[d].concrete()), index.concrete());
    }
    if (e.tensor.kind == TensorRef::Kind::Stage) return stage(e.tensor.number, position);
    const auto& input = inputs_[static_cast<std::size_t>(e.tensor.number)];
    if (!input || static_cast<std::size_t>(offset) >= input->size()) return std::nullopt;
    return (*input)[static_cast<std::size_t>(offset)];
  }

  static std::optional<Dim> truth(std::optional<bool> value) {
    return value ? std::optional(Dim(*value ? 1 : 0)) : std::nullopt;
  }

  // Integer division truncates: floor where both signs are known to agree.
  static std::optional<Dim> divide(const Dim& a, const Dim& b) {
    if (b.is(0)) return std::nullopt;
    if (a.is_concrete() && b.is_concrete()) return b.is(-1) ? Dim(-1) * a : Dim(a.concrete() / b.concrete());
    const bool agree = a.at_least(0).value_or(false) && b.at_least(1).value_or(false);
    if (agree) return Dim::floor(a, b);
    return Dim::exact_quotient(a, b);
  }

  std::optional<Dim> evaluate_apply(const ExprNode& e) {
    if (is_float(e.type) || is_float(e.args.back()->type)) return std::nullopt;
    const auto a = evaluate(*e.args[0]);
    if (!a) return std::nullopt;
    if (e.fn == Fn::Where) return a->is_concrete() ? evaluate(*e.args[a->is(0) ? 2 : 1]) : std::nullopt;
    std::optional<Dim> b;
    if (e.args.size() > 1 && !(b = evaluate(*e.args[1]))) return std::nullopt;
    switch (e.fn) {
      case Fn::Add: return *a + *b;
      case Fn::Sub: return *a - *b;
      case Fn::Mul: return *a * *b;
      case Fn::Div: return divide(*a, *b);
      case Fn::Neg: return Dim(0) - *a;
      case Fn::Max: return Dim::max(*a, *b);
      case Fn::Min: return Dim::min(*a, *b);
      case Fn::Mod: return b->at_least(1).value_or(false) ? std::optional(Dim::mod(*a, *b)) : std::nullopt;
      case Fn::Equal: return truth(a->equals(*b));
      case Fn::Less: return truth(negated(a->at_least(*b)));
      case Fn::LessOrEqual: return truth(b->at_least(*a));
      case Fn::And: return *a * *b;
      case Fn::Or: return Dim::max(*a, *b);
      case Fn::Not: return Dim(1) - *a;
      case Fn::Cast: return cast(*a, e.type);
      default: return std::nullopt;
    }
  }
  static std::optional<bool> negated(std::optional<bool> value) {
    return value ? std::optional(!*value) : std::nullopt;
  }

  // An extent fits 32 bits by assumption of the model's author; a concrete value must.
  static std::optional<Dim> cast(const Dim& a, ElementType to) {
    if (to == ElementType::Bool) return truth(negated(a.equals(0)));
    if (to == ElementType::Int64) return a;
    if (to != ElementType::Int32 || !a.is_concrete()) return std::nullopt;
    return a.concrete() == static_cast<std::int32_t>(a.concrete()) ? std::optional(a) : std::nullopt;
  }

  std::optional<Dim> evaluate_reduce(const ExprNode& e) {
    std::optional<Dim> total;
    std::int64_t points = 1;
    for (const Axis& a : e.axes) {
      if (!a.extent.is_concrete()) return std::nullopt;
      points = checked_multiply(points, a.extent.concrete());
      axes_[a.id] = 0;
    }
    constexpr std::int64_t kMostPoints = 4096;  // longer reductions are no shape arithmetic
    if (points == 0 || points > kMostPoints) return std::nullopt;
    for (std::int64_t point = 0; point < points; ++point) {
      const auto here = holds(e.domain);
      if (!here) return std::nullopt;
      if (*here) {
        const auto value = evaluate(*e.args[0]);
        if (!value) return std::nullopt;
        total = !total ? *value : combine(e.reduction, *total, *value);
      }
      for (std::size_t k = e.axes.size(); k-- > 0;) {
        if (++axes_[e.axes[k].id] < e.axes[k].extent.concrete()) break;
        axes_[e.axes[k].id] = 0;
      }
    }
    return total;
  }
  static Dim combine(Reduction reduction, const Dim& a, const Dim& b) {
    switch (reduction) {
      case Reduction::Sum: return a + b;
      case Reduction::Product: return a * b;
      case Reduction::Max: return Dim::max(a, b);
      case Reduction::Min: return Dim::min(a, b);
    }
    ISOMER_UNREACHABLE("every reduction combines");
  }

  const Formula& formula_;
  const std::vector<std::optional<Dims>>& inputs_;
  std::map<int, std::int64_t> axes_;
};

}  // namespace

std::optional<Dims> evaluate_symbolic(const Formula& formula, int output,
                                      const std::vector<std::optional<Dims>>& inputs, std::int64_t most) {
  const Stage& stage = formula.output(output);
  if (is_float(stage.type)) return std::nullopt;
  const auto extents = concrete(stage.shape());
  if (!extents) return std::nullopt;
  std::int64_t count = 1;
  for (const std::int64_t e : *extents) {
    if (e == 0) return Dims{};
    if (e > most || (count = checked_multiply(count, e)) > most) return std::nullopt;
  }
  try {
    SymbolicWalker walker(formula, inputs);
    Dims out;
    Extents position(extents->size(), 0);
    for (std::int64_t n = 0; n < count; ++n) {
      const auto value = walker.stage(formula.outputs[static_cast<std::size_t>(output)], position);
      if (!value) return std::nullopt;
      out.push_back(*value);
      for (std::size_t k = position.size(); k-- > 0;) {
        if (++position[k] < (*extents)[k]) break;
        position[k] = 0;
      }
    }
    return out;
  } catch (const DimOverflow&) {
    return std::nullopt;
  }
}

}  // namespace isomer
