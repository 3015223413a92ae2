// Converts a formula's expressions to terms: the part of NormalForms that knows the meaning of each kind of
// expression.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "kernel/normal/normal_form.h"

namespace isomer {

class FormulaReader {
 public:
  FormulaReader(NormalForms& forms, const std::vector<std::optional<Form>>& inputs,
                const std::vector<IndexRange>& ranges)
      : forms_(forms), inputs_(inputs), ranges_(ranges) {}

  Form read(const Stage& stage) {
    Form out{.type = stage.type, .axes = {}, .sum = {}};
    out.axes = own(stage.axes);
    out.sum = value(*stage.value);
    forms_.check_size(out.sum);
    stages_.push_back(out);
    return out;
  }

 private:
  // Axes of the formula as new ones of the normal form.
  std::vector<Axis> own(const std::vector<Axis>& axes) {
    std::vector<Axis> out;
    for (const Axis& a : axes) {
      out.push_back(forms_.maker_.axis(a.extent));
      axes_.insert_or_assign(a.id, Index(out.back()));
    }
    return out;
  }
  Index index(const Index& i) {
    return i
        .substitute([&](const Axis& axis) {
          const auto at = axes_.find(axis.id);
          ISOMER_CHECK(at != axes_.end(), "an axis outside of its reduction");
          return at->second;
        })
        .recombine();
  }
  Domain domain(const Domain& conditions) {
    Domain out;
    for (const Index& c : conditions) out.push_back(index(c));
    return out;
  }

  Sum value(const ExprNode& e) {
    if (const auto at = put_.find(&e); at != put_.end()) return at->second;
    switch (e.kind) {
      case ExprNode::Kind::Number:
        return is_float(e.type) ? forms_.number(e.type, e.number)
                                : scaled(Sum{Term{}}, Coefficient{.number = whole(e)});
      case ExprNode::Kind::IndexNumber: return forms_.index_number(index(e.index));
      case ExprNode::Kind::Read: {
        std::vector<Index> at;
        for (const Index& i : e.at) at.push_back(index(i));
        const auto number = static_cast<std::size_t>(e.tensor.number);
        if (e.tensor.kind == TensorRef::Kind::Stage) return forms_.read(stages_[number], at);
        ISOMER_CHECK(inputs_[number].has_value(), "a formula reads an absent input");
        return forms_.read(*inputs_[number], at);
      }
      case ExprNode::Kind::Apply: return apply(e);
      case ExprNode::Kind::Cases: return cases(e);
      case ExprNode::Kind::Reduce: return reduce(e);
    }
    ISOMER_UNREACHABLE("a kind that does not exist");
  }

  static Rational whole(const ExprNode& e) {
    if (e.type == ElementType::Uint64) return Rational(static_cast<unsigned long>(e.integer));
    return Rational(static_cast<long>(e.integer));
  }

  Sum apply(const ExprNode& e) {
    const auto arg = [&](std::size_t i) { return value(*e.args[i]); };
    const bool is_number = is_float(e.type) || is_integer(e.type);
    if (is_number) {
      switch (e.fn) {
        case Fn::Add: return forms_.add(arg(0), arg(1));
        case Fn::Sub: return forms_.add(arg(0), scaled(arg(1), Coefficient{.number = -1}));
        case Fn::Neg: return scaled(arg(0), Coefficient{.number = -1});
        case Fn::Mul: return forms_.multiply(arg(0), arg(1));
        case Fn::Div:
          // Division of integers truncates, which is no operation of a ring.
          if (is_float(e.type)) return forms_.multiply(arg(0), forms_.reciprocal(arg(1)));
          break;
        case Fn::Pow: return forms_.power(arg(0), arg(1), e.type);
        default: break;
      }
    }
    if (e.fn == Fn::Cast) {
      const ExprNode& from = *e.args[0];
      if (is_exact_cast(from.type, e.type) || (is_float(e.type) && is_literal(from))) return arg(0);
      // A truth value as a number is a choice between 1 and 0.
      if (from.type == ElementType::Bool && is_number)
        return forms_.call(Fn::Where, e.type, {arg(0), Sum{Term{}}, Sum{}});
    }
    if (e.fn == Fn::Where && forms_.options_.laws && is_float(e.type))
      if (auto sum = choice(e)) return *sum;
    if (e.fn == Fn::Sqrt && forms_.options_.laws && is_float(e.type))
      if (auto root = root_mean_square(e)) return *root;
    std::vector<Sum> args;
    for (std::size_t i = 0; i < e.args.size(); ++i) args.push_back(arg(i));
    const ElementType type = e.args.back()->type;
    const bool compares = e.fn == Fn::Equal || e.fn == Fn::Less || e.fn == Fn::LessOrEqual;
    if (compares && forms_.options_.laws && is_float(type)) forms_.compare_simpler(e.fn, args[0], args[1]);
    return forms_.call(e.fn, e.type, args,
                       is_integer(type) && type != e.type ? type : ElementType::Undefined);
  }

  // An integer that is what it says: it does not wrap.
  static bool is_literal(const ExprNode& e) {
    if (e.kind != ExprNode::Kind::Number && e.kind != ExprNode::Kind::IndexNumber) return false;
    return e.type == ElementType::Int64 ||
           (is_integer(e.type) && e.kind == ExprNode::Kind::Number && e.integer >= 0 && e.integer <= 127);
  }

  // A value that is defined whichever branch of a choice is taken: made of tensors that are finite
  // everywhere. A branch that is not taken may be undefined, so nothing else may be moved out of it.
  bool is_always_defined(const Sum& sum) const {
    return std::ranges::all_of(sum, [&](const Term& t) {
      return std::ranges::all_of(t.factors, [&](const SourceFactor& f) {
        const NormalForms::Source& from = forms_.source(f.source);
        if (!from.numbers.empty()) return true;  // a table
        if (forms_.hits_.contains(f.source)) return forms_.is_total({{.factors = {f}}});
        return from.finite && from.element && forms_.elements_[*from.element].kind == Element::Kind::Tensor &&
               std::ranges::find(forms_.partial_, f.source) == forms_.partial_.end();
      });
    });
  }

  // Whether an expression is defined whatever x is: a total function of x and of finite tensors.
  bool is_total_in(const ExprNode& e, const ExprNode* x) {
    if (&e == x) return true;
    if (e.kind == ExprNode::Kind::Number) return std::isfinite(e.number);
    if (e.kind == ExprNode::Kind::Read) return is_always_defined(value(e));
    return e.kind == ExprNode::Kind::Apply && is_float(e.type) && !is_partial(e.fn) &&
           std::ranges::all_of(e.args, [&](const ExprRef& a) { return is_total_in(*a, x); });
  }
  Sum value_with(const ExprNode& e, const ExprNode* x, const Sum& put) {
    const auto before = put_.find(x) == put_.end() ? std::nullopt : std::optional(put_.at(x));
    put_.insert_or_assign(x, put);
    Sum out = value(e);
    if (before) put_.insert_or_assign(x, *before);
    else put_.erase(x);
    return out;
  }

  // Whether this is an index of the node along an axis, brought from -extent..extent-1 to 0..extent-1. That
  // it lies there is what a program has to grant to run (IndexRange), and is proved of the second one.
  bool points_inside(const ExprNode& index, const Dim& extent) const {
    if (!is_apply(index, Fn::Where)) return false;
    const ExprNode &below = *index.args[0], &wrapped = *index.args[1], *given = index.args[2].get();
    const auto is_of_it = [&](const ExprNode& e, Fn fn) {
      return is_apply(e, fn) && e.args[0].get() == given;
    };
    if (!is_of_it(below, Fn::Less) || !is_zero(*below.args[1]) || !is_of_it(wrapped, Fn::Add)) return false;
    const ExprNode& added = *wrapped.args[1];
    if (added.kind != ExprNode::Kind::IndexNumber || !(added.index == Index(extent)) ||
        index.type != ElementType::Int64)
      return false;
    const ExprNode& read = is_apply(*given, Fn::Cast) ? *given->args[0] : *given;
    if (read.kind != ExprNode::Kind::Read || read.tensor.kind != TensorRef::Kind::Input ||
        (read.type != ElementType::Int32 && read.type != ElementType::Int64))
      return false;
    for (std::size_t k = 0; k < read.at.size(); ++k)
      if (!read.at[k].is_inside(read.extents[k])) return false;
    return std::ranges::any_of(ranges_, [&](const IndexRange& r) {
      return r.input == read.tensor.number && r.extent == extent &&
             (!r.place || (!read.at.empty() && read.at.back() == Index(*r.place)));
    });
  }

  // Σ_v (v = index ? x(v) : 0), of an index that points inside and an x that is defined everywhere.
  std::optional<Sum> look_up(const ExprNode& e) {
    const ExprNode& body = *e.args[0];
    if (!forms_.options_.laws || !put_.empty() || !is_float(e.type) || e.axes.size() != 1 ||
        !e.domain.empty() || !is_apply(body, Fn::Where) || !is_zero(*body.args[2]))
      return std::nullopt;
    const ExprNode& condition = *body.args[0];
    if (!is_apply(condition, Fn::Equal) || condition.args[0]->kind != ExprNode::Kind::IndexNumber ||
        !(condition.args[0]->index == Index(e.axes[0])) ||
        !points_inside(*condition.args[1], e.axes[0].extent))
      return std::nullopt;
    if (e.axes[0].extent.is(1)) {  // inside of one position there is one place
      axes_.insert_or_assign(e.axes[0].id, Index(0));
      forms_.used_laws_ = true;
      return value(*body.args[1]);
    }
    const Axis v = own(e.axes)[0];
    const Sum of = value(*body.args[1]);
    if (!forms_.is_total(of)) return std::nullopt;
    const auto hit = forms_.hit(value(condition), v, e.type);
    if (!hit) return std::nullopt;
    return forms_.looked_up(*hit, v, of);
  }

  // sqrt(Σ x² / n + c) of c > 0, which is defined whatever x is: multiplied out, a variance no longer shows
  // it.
  struct Squares {
    std::vector<Axis> axes;
    Sum scale, added;
    ElementType type;
  };
  std::optional<Sum> root_mean_square(const ExprNode& e) {
    if (!put_.empty() || !is_apply(*e.args[0], Fn::Add)) return std::nullopt;
    const ExprNode &mean = *e.args[0]->args[0], &added = *e.args[0]->args[1];
    if (!is_apply(mean, Fn::Div) || added.kind != ExprNode::Kind::Number || !std::isfinite(added.number) ||
        added.number <= 0)
      return std::nullopt;
    const ExprNode& total = *mean.args[0];
    if (total.kind != ExprNode::Kind::Reduce || total.reduction != Reduction::Sum || !total.domain.empty() ||
        !is_apply(*total.args[0], Fn::Mul) || total.args[0]->args[0] != total.args[0]->args[1])
      return std::nullopt;
    const Sum count = value(*mean.args[1]);
    if (count.size() != 1 || !is_number(count) || count[0].coefficient.number <= 0) return std::nullopt;
    const Squares squares{
        .axes = own(total.axes), .scale = forms_.reciprocal(count), .added = value(added), .type = e.type};
    return root_mean_square(squares, value(*total.args[0]->args[0]));
  }
  Sum root_mean_square(const Squares& squares, const Sum& x) {
    if (auto out = forms_.through_look_up(
            {x}, squares.axes, [&](const auto& each) { return root_mean_square(squares, each[0]); }))
      return *out;
    const Sum mean = forms_.multiply(sum(squares.axes, {}, forms_.multiply(x, x)), squares.scale);
    return forms_.call_of_signs(Fn::Sqrt, squares.type, {forms_.expanded(forms_.add(mean, squares.added))},
                                {{.nonnegative = true, .nonzero = true}});
  }

  // x < 0 ? f(x) : g(x) is f(min(x, 0)) + g(max(x, 0)) - f(0), if f(0) = g(0).
  std::optional<Sum> choice_by_sign(const ExprNode& e) {
    const ExprNode &condition = *e.args[0], &below = *e.args[1], &above = *e.args[2];
    if (!is_apply(condition, Fn::Less) || !is_zero(*condition.args[1])) return std::nullopt;
    const ExprNode* x = condition.args[0].get();
    if (!is_float(x->type) || !is_total_in(below, x) || !is_total_in(above, x)) return std::nullopt;
    const Sum number = value(*x);
    if (!forms_.is_finite(number)) return std::nullopt;
    const Coefficient minus{.number = -1};
    const Sum middle = value_with(below, x, {});
    if (!is_number(middle) || !forms_.is_same(middle, value_with(above, x, {}))) return std::nullopt;
    forms_.used_laws_ = true;
    const Sum positive = forms_.call(Fn::Relu, e.type, {number});
    const Sum negative = forms_.add(number, scaled(positive, minus));
    const Sum both = forms_.add(value_with(below, x, negative), value_with(above, x, positive));
    return forms_.add(both, scaled(middle, minus));
  }

  static bool is_apply(const ExprNode& e, Fn fn) { return e.kind == ExprNode::Kind::Apply && e.fn == fn; }
  static bool is_zero(const ExprNode& e) {
    return e.kind == ExprNode::Kind::Number && e.number == 0 && e.integer == 0;
  }
  static bool is_number(const Sum& sum) {
    return std::ranges::all_of(
        sum, [](const Term& t) { return t.factors.empty() && t.where.empty() && t.bound.empty(); });
  }

  // c ? a : b is [c]·a + (1 - [c])·b.
  std::optional<Sum> choice(const ExprNode& e) {
    if (auto sum = choice_by_sign(e)) return sum;
    const ExprNode &condition = *e.args[0], &yes = *e.args[1];
    Sum a = forms_.expanded(value(yes));
    const Sum b = forms_.expanded(value(*e.args[2]));
    const bool are_numbers = is_number(a) && is_number(b);
    if (are_numbers && forms_.is_same(a, b)) {
      value(condition);  // which has to be defined
      forms_.used_laws_ = true;
      return a;
    }
    if (are_numbers || !is_always_defined(a) || !is_always_defined(b)) return std::nullopt;
    forms_.used_laws_ = true;
    const Sum holds = forms_.call(Fn::Where, e.type, {value(condition), Sum{Term{}}, Sum{}});
    return forms_.add(b, forms_.multiply(holds, forms_.add(a, scaled(b, Coefficient{.number = -1}))));
  }

  // The first case that holds counts.
  Sum cases(const ExprNode& e) {
    Sum out;
    std::vector<Domain> open{{}};  // disjoint: where none has held so far
    const auto give = [&](const Sum& sum, const std::vector<Domain>& where) {
      for (const Domain& d : where) {
        for (Term t : sum)
          if (require(t, d)) out.push_back(std::move(t));
      }
    };
    // A conjunction, if it can hold.
    const auto narrow = [](const Domain& d, const Domain& more, std::vector<Domain>& to) {
      Term probe{.where = d};
      if (require(probe, more)) to.push_back(std::move(probe.where));
    };
    for (const ExprNode::Case& c : e.cases) {
      const Domain when = domain(c.when);
      std::vector<Domain> here, rest;
      for (const Domain& d : open) {
        narrow(d, when, here);
        for (const Domain& other : complement(when)) narrow(d, other, rest);
      }
      if (!here.empty()) give(value(*c.value), here);
      open = std::move(rest);
      if (open.size() > 256) throw Undecided("a distinction of too many cases");
    }
    if (!open.empty()) give(value(*e.args[0]), open);
    return out;
  }

  Sum reduce(const ExprNode& e) {
    if (e.reduction == Reduction::Sum)
      if (auto out = look_up(e)) return *out;
    const std::vector<Axis> axes = own(e.axes);
    const Domain conditions = domain(e.domain);
    const Sum body = value(*e.args[0]);
    switch (e.reduction) {
      case Reduction::Sum: return sum(axes, conditions, body);
      case Reduction::Max:
      case Reduction::Min: return forms_.fold(e.reduction, e.type, axes, conditions, body);
      case Reduction::Product: return unrolled_product(axes, conditions, body);
    }
    ISOMER_UNREACHABLE("a kind that does not exist");
  }

  Sum sum(const std::vector<Axis>& axes, const Domain& conditions, const Sum& body) {
    if (!forms_.is_finite(body)) throw Undecided("a sum over numbers that are not finite");
    return forms_.summed(axes, conditions, body);
  }

  Sum unrolled_product(const std::vector<Axis>& axes, const Domain& conditions, const Sum& body) {
    if (!conditions.empty()) throw Undecided("a product over a part of a box");
    std::vector<Sum> open{body};
    for (const Axis& a : axes) {
      if (!a.extent.is_concrete() || a.extent.concrete() > 16)
        throw Undecided(fmt::format("a product over {} elements", a.extent.text()));
      std::vector<Sum> next;
      for (const Sum& s : open) {
        for (std::int64_t v = 0; v < a.extent.concrete(); ++v) {
          Sum part;
          for (const Term& t : s)
            if (auto put =
                    substitute(t, [&](const Axis& x) { return x == a ? Index(v) : Index(x); }, forms_.maker_))
              part.push_back(std::move(*put));
          next.push_back(std::move(part));
        }
      }
      open = std::move(next);
      if (open.size() > 16) throw Undecided("a product over too many elements");
    }
    Sum out{Term{}};
    for (const Sum& s : open) out = forms_.multiply(out, s);
    return out;
  }

  NormalForms& forms_;
  const std::vector<std::optional<Form>>& inputs_;
  const std::vector<IndexRange>& ranges_;
  std::vector<Form> stages_;
  std::map<int, Index> axes_;
  std::map<const ExprNode*, Sum>
      put_;  // in the place of an expression; where it is not empty, all go by value()
};

// A tensor of rank 1 whose element at i is i.
Sum NormalForms::index_number(const Index& index) {
  Sum out;
  if (index.is_constant()) {
    for (const Dim::Summand& s : index.offset().summands()) {
      Coefficient k{.number = Rational(static_cast<long>(s.coefficient))};
      bool plain = true;
      for (const Dim::Factor& f : s.factors) {
        plain = plain && f.kind == Dim::Factor::Kind::Symbol;
        if (plain) ++k.symbols[f.symbol];
      }
      if (!plain) break;
      out.push_back({.coefficient = k});
    }
    if (out.size() == index.offset().summands().size()) return out;
  }
  if (!index_numbers_) {
    index_numbers_ = add_source(
        {.extents = {}, .element = elements_.tensor(1), .pieces = {}, .sign = {}, .reciprocal = {}});
  }
  return {{.factors = {{*index_numbers_, {index}}}}};
}

Sum NormalForms::number(ElementType, double value) {
  if (value == 0) return {};
  if (std::isfinite(value)) return {{.coefficient = {.number = Rational(value)}}};
  // No rational number (infinite or NaN): a symbol, equal only to itself.
  const auto [at, is_new] = strange_numbers_.try_emplace(fmt::format("{}", value), 0);
  if (is_new)
    at->second = add_source({.extents = {},
                             .element = elements_.tensor(0),
                             .pieces = {},
                             .sign = {},
                             .finite = false,
                             .reciprocal = {}});
  return {{.factors = {{at->second, {}}}}};
}

std::vector<Form> NormalForms::apply(const Formula& formula, const std::vector<std::optional<Form>>& inputs) {
  ISOMER_CHECK(inputs.size() >= formula.inputs.size());
  FormulaReader reader(*this, inputs, formula.ranges);
  std::vector<Form> stages, out;
  for (const Stage& s : formula.stages) stages.push_back(reader.read(s));
  for (const int o : formula.outputs) out.push_back(stages[static_cast<std::size_t>(o)]);
  return out;
}

}  // namespace isomer
