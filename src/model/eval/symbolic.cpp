// evaluate_symbolic: a formula's integer elements as expressions over symbolic extents. Values are followed
// through Shape-Gather-Concat-Reshape chains only by the operators' own formulas.
//
// Numbers are computed in the arithmetic of their type, which wraps. An expression over symbols is computed
// over the integers, and known only where it is certain to fit its type.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/check.h"
#include "model/eval/element.h"
#include "model/eval/scalar.h"

namespace isomer {
namespace {

class SymbolicWalker {
 public:
  SymbolicWalker(const Formula& formula, const std::vector<std::optional<Dims>>& inputs,
                 const SymbolProducts& products)
      : formula_(formula), inputs_(inputs), products_(products) {}

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
      case ExprNode::Kind::Number: return is_float(e.type) ? std::nullopt : in_type(Dim(e.integer), e.type);
      case ExprNode::Kind::IndexNumber: return in_type(at(e.index), e.type);
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
    return in_type((*input)[static_cast<std::size_t>(offset)], e.type);
  }

  // Whether a number of this type is itself as a Dim: all but the upper half of uint64 are.
  template <class T>
  static std::optional<Dim> as_dim(T value) {
    if (std::same_as<T, std::uint64_t> && scalar::widen(value) >> 63u != 0) return std::nullopt;
    return Dim(static_cast<std::int64_t>(value));
  }

  // A value over the integers as one of this type.
  std::optional<Dim> in_type(const Dim& value, ElementType type) const {
    if (type == ElementType::Bool) return value;
    if (value.is_concrete()) return compute(Fn::Cast, ElementType::Int64, type, value.concrete(), 0);
    const bool has_sign = is_signed_integer(type) || value.at_least(0).value_or(false);
    return has_sign && products_.fits(value, bits(type) - 2) ? std::optional(value) : std::nullopt;
  }

  // A function of numbers, by the same code as in all evaluators.
  static std::optional<Dim> compute(Fn fn, ElementType of, ElementType to, std::int64_t a, std::int64_t b) {
    ScalarContext context;
    const auto result = with_compute_type(of, [&]<class T>(T) -> std::optional<Dim> {
      if constexpr (!scalar::Whole<T>) {
        return std::nullopt;
      } else {
        const T x = static_cast<T>(a), y = static_cast<T>(b);
        switch (class_of(fn)) {
          case FnClass::Unary:
            return with_unary(fn, [&]<Fn f>() { return as_dim(scalar::unary<f>(x, context)); });
          case FnClass::Binary:
            return with_binary(fn, [&]<Fn f>() { return as_dim(scalar::binary<f>(x, y, context)); });
          case FnClass::Comparison:
            return with_comparison(fn, [&]<Fn f>() { return truth(scalar::compare<f>(x, y)); });
          case FnClass::Cast:
            return with_compute_type(to, [&]<class To>(To) -> std::optional<Dim> {
              if constexpr (!scalar::Whole<To>) return std::nullopt;
              else return as_dim(scalar::cast<To>(x, to == ElementType::Bool, context));
            });
          case FnClass::Test:
          case FnClass::Where: return std::nullopt;
        }
        ISOMER_UNREACHABLE("every function is of a class");
      }
    });
    return context.divided_by_zero ? std::nullopt : result;
  }

  static std::optional<Dim> truth(std::optional<bool> value) {
    return value ? std::optional(Dim(*value ? 1 : 0)) : std::nullopt;
  }

  // Integer division truncates: floor where both signs are known to agree.
  static std::optional<Dim> divide(const Dim& a, const Dim& b) {
    if (b.is(0)) return std::nullopt;
    const bool agree = a.at_least(0).value_or(false) && b.at_least(1).value_or(false);
    if (agree) return Dim::floor(a, b);
    return Dim::exact_quotient(a, b);
  }

  std::optional<Dim> evaluate_apply(const ExprNode& e) {
    const ElementType of = e.args.back()->type;
    if (is_float(e.type) || is_float(of)) return std::nullopt;
    const auto a = evaluate(*e.args[0]);
    if (!a) return std::nullopt;
    if (e.fn == Fn::Where) return a->is_concrete() ? evaluate(*e.args[a->is(0) ? 2 : 1]) : std::nullopt;
    std::optional<Dim> b(Dim(0));
    if (e.args.size() > 1) b = evaluate(*e.args[1]);
    if (!b) return std::nullopt;
    if (a->is_concrete() && b->is_concrete()) return compute(e.fn, of, e.type, a->concrete(), b->concrete());
    const auto exact = over_integers(e.fn, *a, *b, e.type);
    return exact ? in_type(*exact, e.type) : std::nullopt;
  }
  // A function of integers without end, into the type only where that is the function.
  static std::optional<Dim> over_integers(Fn fn, const Dim& a, const Dim& b, ElementType type) {
    switch (fn) {
      case Fn::Add: return a + b;
      case Fn::Sub: return a - b;
      case Fn::Mul: return a * b;
      case Fn::Neg: return Dim(0) - a;
      case Fn::Div: return divide(a, b);
      case Fn::Max: return Dim::max(a, b);
      case Fn::Min: return Dim::min(a, b);
      case Fn::Mod: return b.at_least(1).value_or(false) ? std::optional(Dim::mod(a, b)) : std::nullopt;
      case Fn::Equal: return truth(a.equals(b));
      case Fn::Less: return truth(negate(a.at_least(b)));
      case Fn::LessOrEqual: return truth(b.at_least(a));
      case Fn::And: return a * b;
      case Fn::Or: return Dim::max(a, b);
      case Fn::Not: return Dim(1) - a;
      case Fn::Cast: return type == ElementType::Bool ? truth(negate(a.equals(0))) : a;
      default: return std::nullopt;
    }
  }
  static std::optional<bool> negate(std::optional<bool> value) {
    return value ? std::optional(!*value) : std::nullopt;
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
        total = !total ? value : combine(e, *total, *value);
        if (!total) return std::nullopt;
      }
      for (std::size_t k = e.axes.size(); k-- > 0;) {
        if (++axes_[e.axes[k].id] < e.axes[k].extent.concrete()) break;
        axes_[e.axes[k].id] = 0;
      }
    }
    return total;
  }
  std::optional<Dim> combine(const ExprNode& e, const Dim& a, const Dim& b) const {
    const Fn step = step_of(e.reduction);
    if (a.is_concrete() && b.is_concrete()) return compute(step, e.type, e.type, a.concrete(), b.concrete());
    const auto exact = over_integers(step, a, b, e.type);
    return exact ? in_type(*exact, e.type) : std::nullopt;
  }

  const Formula& formula_;
  const std::vector<std::optional<Dims>>& inputs_;
  const SymbolProducts& products_;
  std::map<int, std::int64_t> axes_;
};

}  // namespace

void SymbolProducts::add(const Dims& shape) {
  std::vector<std::string> symbols;
  for (const Dim& d : shape) {
    if (d.is_concrete()) continue;
    const auto summands = d.summands();
    const bool is_symbol = summands.size() == 1 && summands[0].factors.size() == 1 &&
                           summands[0].factors[0].kind == Dim::Factor::Kind::Symbol;
    if (!is_symbol) extents_.insert(d.text());
    if (summands.size() != 1) continue;
    for (const Dim::Factor& f : summands[0].factors)
      if (f.kind == Dim::Factor::Kind::Symbol) symbols.push_back(f.symbol);
  }
  if (symbols.size() < 2) return;
  std::ranges::sort(symbols);
  const auto is_more = [&](const auto& known) { return std::ranges::includes(known, symbols); };
  if (std::ranges::any_of(products_, is_more)) return;
  std::erase_if(products_, [&](const auto& known) { return std::ranges::includes(symbols, known); });
  products_.push_back(std::move(symbols));
}

bool SymbolProducts::fits(const Dim& value, int bits) const {
  return value.is_concrete() || bits_of(value) < bits;
}

double SymbolProducts::bits_of(const Dim& value) const {
  if (extents_.contains(value.text())) return extent_bits_;
  double most = 0;
  const auto summands = value.summands();
  for (const Dim::Summand& s : summands) {
    double bits = std::log2(std::abs(static_cast<double>(s.coefficient)));
    std::vector<std::string> symbols;
    for (const Dim::Factor& f : s.factors) {
      if (f.kind == Dim::Factor::Kind::Symbol) symbols.push_back(f.symbol);
      else bits += std::max(bits_of(f.a), f.kind == Dim::Factor::Kind::Floor ? 0 : bits_of(f.b));
    }
    std::ranges::sort(symbols);
    const bool is_extent = symbols.size() > 1 && std::ranges::any_of(products_, [&](const auto& known) {
                             return std::ranges::includes(known, symbols);
                           });
    bits += extent_bits_ * (is_extent ? 1 : static_cast<double>(symbols.size()));
    most = std::max(most, bits);
  }
  return most + std::log2(std::max<double>(1, static_cast<double>(summands.size())));
}

std::optional<Dims> evaluate_symbolic(const Formula& formula, int output,
                                      const std::vector<std::optional<Dims>>& inputs, std::int64_t most,
                                      const SymbolProducts& products) {
  const Stage& stage = formula.output(output);
  if (is_float(stage.type)) return std::nullopt;
  const auto extents = concrete(stage.shape());
  if (!extents) return std::nullopt;
  std::int64_t count = 1;
  for (const std::int64_t e : *extents) {
    if (e == 0) return Dims{};
    if (e > most) return std::nullopt;
    count = checked_multiply(count, e);
    if (count > most) return std::nullopt;
  }
  try {
    SymbolicWalker walker(formula, inputs, products);
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
