#include "kernel/normal/normal_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.h"
#include "model/eval/field.h"

namespace isomer {

Dims Form::shape() const {
  Dims out;
  for (const Axis& a : axes) out.push_back(a.extent);
  return out;
}

NormalForms::NormalForms(const std::vector<std::string>& symbols, Options options)
    : options_(std::move(options)),
      space_(symbols, options_.preconditions, options_.budget.set_operations),
      elements_(space_, options_.budget.candidates) {}

void NormalForms::check_size(const Sum& sum) const {
  if (sum.size() > options_.budget.terms)
    throw Undecided(fmt::format("a value of more than {} terms", options_.budget.terms));
}

int NormalForms::add_source(Source source) {
  // One element at its own coordinates: no relation has to be carried along.
  if (!source.element && source.pieces.size() == 1) {
    const Piece& only = source.pieces[0];
    if (elements_[only.element].kind != Element::Kind::Number &&
        only.to.out() == static_cast<int>(source.extents.size()) &&
        only.to.hull() == identity(space_, only.to.out()) &&
        box(space_, source.extents).is_subset_of(only.to.domain())) {
      source.element = only.element;
      source.pieces.clear();
    }
  }
  sources_.push_back(std::move(source));
  return static_cast<int>(sources_.size()) - 1;
}

const std::vector<Piece>& NormalForms::pieces_of(int id) {
  Source& s = sources_[static_cast<std::size_t>(id)];
  ISOMER_CHECK(s.numbers.empty(), "a table under a function was not expanded");
  if (s.pieces.empty() && s.element) s.pieces.push_back({*s.element, identity_on(box(space_, s.extents))});
  return s.pieces;
}

Form NormalForms::tensor(ElementType type, const Dims& shape, Sign sign) {
  Form out{.type = type, .axes = {}, .sum = {}};
  for (const Dim& d : shape) out.axes.push_back(maker_.axis(d));
  const int source = add_source({.extents = shape,
                                 .element = elements_.tensor(static_cast<int>(shape.size())),
                                 .pieces = {},
                                 .sign = sign,
                                 .reciprocal = {}});
  if (is_float(type)) real_.insert(*sources_.back().element);
  out.sum.push_back({.factors = {{source, to_indices(out.axes)}}});
  return out;
}

// ---- arithmetic

bool NormalForms::is_finite(const Sum& sum) const {
  return std::ranges::all_of(sum, [&](const Term& t) {
    return std::ranges::all_of(t.factors, [&](const SourceFactor& f) { return source(f.source).finite; });
  });
}

Sum NormalForms::read(const Form& form, const std::vector<Index>& at) {
  ISOMER_CHECK(form.axes.size() == at.size());
  Sum out;
  for (const Term& t : form.sum) {
    auto term = substitute(
        t,
        [&](const Axis& axis) {
          const auto place = std::ranges::find(form.axes, axis);
          ISOMER_CHECK(place != form.axes.end(), "a form's term mentions an axis that is not the form's");
          return at[static_cast<std::size_t>(place - form.axes.begin())];
        },
        maker_);
    bool alive = term.has_value();
    for (std::size_t i = 0; alive && i < at.size(); ++i) {
      // Zero outside.
      if (!at[i].is_inside(form.axes[i].extent))
        alive = require(*term, between(0, at[i], form.axes[i].extent));
    }
    if (alive) out.push_back(std::move(*term));
  }
  return out;
}

Sum NormalForms::add(Sum a, const Sum& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  if (!is_finite(a) || !is_finite(b)) return call(Fn::Add, ElementType::Float, {a, b});
  a.insert(a.end(), b.begin(), b.end());
  merge_alike(a);
  check_size(a);
  return a;
}

Sum NormalForms::summed(const std::vector<Axis>& axes, const Domain& conditions, const Sum& body) {
  Sum out;
  for (Term t : body) {
    t.bound.insert(t.bound.end(), axes.begin(), axes.end());
    if (!require(t, conditions)) continue;
    if (auto settled = without_fixed_axes(std::move(t)))
      if (auto added = contracted(std::move(*settled))) out.push_back(std::move(*added));
  }
  merge_alike(out);
  return out;
}

Sum NormalForms::multiply(const Sum& a, const Sum& b) {
  if (!is_finite(a) || !is_finite(b)) return call(Fn::Mul, ElementType::Float, {a, b});
  if (a.size() * b.size() > options_.budget.terms) check_size(Sum(a.size() * b.size()));
  Sum out;
  for (const Term& x : a) {
    for (const Term& y : b) {
      auto term = product(x, y, maker_);
      if (term) term = with_each_hit_once(std::move(*term));
      if (!term) continue;
      // x · (1/x) = 1 where 1/x is defined; that it is was registered as an obligation when 1/x was made.
      auto& factors = term->factors;
      for (std::size_t i = 0; i < factors.size(); ++i) {
        const auto other = source(factors[i].source).reciprocal;
        if (!other) continue;
        const auto partner = std::ranges::find(factors, SourceFactor{*other, factors[i].at});
        if (partner == factors.end()) continue;
        const auto j = static_cast<std::size_t>(partner - factors.begin());
        const std::size_t first = std::min(i, j), last = std::max(i, j);
        factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(last));
        factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(first));
        used_laws_ = true;
        i = static_cast<std::size_t>(-1);  // from the start
      }
      out.push_back(std::move(*term));
    }
  }
  merge_alike(out);
  return out;
}

Sign NormalForms::sign_of(const Sum& sum) const {
  if (sum.empty()) return {.nonnegative = true, .nonzero = false};
  bool all = true, some = false;
  for (const Term& t : sum) {
    Sign sign{.nonnegative = t.coefficient.number > 0, .nonzero = t.coefficient.symbols.empty()};
    std::vector<SourceFactor> rest = t.factors;
    while (!rest.empty()) {
      const SourceFactor f = rest.back();
      rest.pop_back();
      const Sign s = source(f.source).sign;
      sign.nonzero = sign.nonzero && s.nonzero;
      if (const auto twin = std::ranges::find(rest, f); twin != rest.end()) rest.erase(twin);  // a square
      else sign.nonnegative = sign.nonnegative && s.nonnegative;
    }
    all = all && sign.nonnegative;
    const bool is_there = t.where.empty() && std::ranges::all_of(t.bound, [](const Axis& a) {
                            return a.extent.is_concrete() && a.extent.concrete() > 0;
                          });
    some = some || (sign.positive() && is_there);
    if (sum.size() == 1 && is_there && t.bound.empty()) return sign;
  }
  return {.nonnegative = all, .nonzero = all && some};
}

std::vector<SourceFactor> NormalForms::common_factors(const Sum& sum) const {
  std::vector<SourceFactor> out;
  if (sum.empty()) return out;
  const auto is_free = [](const Term& t, const SourceFactor& f) {
    return std::ranges::none_of(f.at, [&](const Index& i) {
      return std::ranges::any_of(t.bound, [&](const Axis& a) { return i.mentions(a); });
    });
  };
  for (const SourceFactor& f : sum[0].factors) {
    const bool everywhere = std::ranges::all_of(sum, [&](const Term& t) {
      return is_free(t, f) && std::ranges::find(t.factors, f) != t.factors.end();
    });
    if (everywhere && std::ranges::find(out, f) == out.end()) out.push_back(f);
  }
  return out;
}

namespace {

Sum without(Sum sum, const SourceFactor& factor) {
  for (Term& t : sum) t.factors.erase(std::ranges::find(t.factors, factor));
  return sum;
}

Sum one() { return {Term{}}; }

bool is_plain(const Term& t) { return t.bound.empty() && t.where.empty(); }

std::optional<Rational> as_number(const Sum& sum) {
  if (sum.empty()) return Rational(0);
  if (sum.size() != 1 || !is_plain(sum[0]) || !sum[0].factors.empty() || !sum[0].coefficient.symbols.empty())
    return std::nullopt;
  return sum[0].coefficient.number;
}

// The second witness reads "positive" as "a square mod p": 89 is none. A scale that it can't follow stays
// where it is.
bool is_square_mod_p(const Rational& k) {
  const auto residue = [](const mpz_class& z) { return Zp{mpz_fdiv_ui(z.get_mpz_t(), Zp::kModulus)}; };
  return (residue(k.get_num()) * residue(k.get_den())).is_positive();
}

// Whether no two terms are there at the same position, as their conditions are written.
bool are_apart(const Sum& sum) {
  if (sum.size() > 256) return false;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (!sum[i].bound.empty()) return false;
    for (std::size_t j = 0; j < i; ++j) {
      Term both{.where = sum[j].where};
      if (require(both, sum[i].where)) return false;
    }
  }
  return true;
}

}  // namespace

int NormalForms::reciprocal_of(int id) {
  if (const auto known = source(id).reciprocal) {
    // Again, maybe where it was not before.
    if (!source(id).sign.nonzero) partial_.push_back(*known);
    return *known;
  }
  const Source& s = source(id);
  Source made{.extents = s.extents,
              .element = {},
              .pieces = {},
              .sign = {.nonnegative = s.sign.nonnegative, .nonzero = true},
              .finite = s.finite,
              .reciprocal = id};
  const int unit = elements_.number(1);
  if (s.element) made.element = elements_.apply(Fn::Div, ElementType::Float, {unit, *s.element});
  else
    for (const Piece& p : s.pieces)
      made.pieces.push_back(
          apply_piece(Fn::Div, ElementType::Float, {unit, p.element}, {p.to.outs(0, 0), p.to}));
  const bool is_total = s.sign.nonzero;
  const int out = add_source(std::move(made));
  sources_[static_cast<std::size_t>(id)].reciprocal = out;
  if (!is_total) partial_.push_back(out);
  note_call_on(out, Fn::Div, ElementType::Float, id);
  return out;
}

Sum NormalForms::reciprocal(const Sum& divisor) {
  if (auto out = through_look_up({divisor}, {}, [&](const auto& of) { return reciprocal(of[0]); }))
    return *out;
  const Sum a = expanded(divisor);
  if (a.size() == 1 && is_plain(a[0])) {
    Term out{.coefficient = a[0].coefficient.inverse()};
    for (const SourceFactor& f : a[0].factors) out.factors.push_back({reciprocal_of(f.source), f.at});
    return {out};
  }
  if (options_.laws) {
    Sum rest = a;
    Sum pulled = one();
    for (const SourceFactor& f : common_factors(a)) {
      rest = without(std::move(rest), f);
      pulled[0].factors.push_back({reciprocal_of(f.source), f.at});
      used_laws_ = true;
    }
    if (!pulled[0].factors.empty()) return multiply(pulled, reciprocal(rest));
  }
  return call(Fn::Div, ElementType::Float, {one(), a});
}

Sum NormalForms::power(const Sum& base, const Sum& exponent, ElementType type) {
  if (const auto number = as_number(exponent); number && is_float(type)) {
    const Rational& e = *number;
    if (e == 1) return base;
    if (e == 2) return multiply(base, base);
    if (e == 3) return multiply(base, multiply(base, base));
    if (e == 4) return multiply(multiply(base, base), multiply(base, base));
    if (e == -1) return reciprocal(base);
    if (e == Rational(1, 2)) return call(Fn::Sqrt, type, {base});
    if (e == Rational(-1, 2)) return reciprocal(call(Fn::Sqrt, type, {base}));
    if (e == -2) return reciprocal(multiply(base, base));
  }
  return call(Fn::Pow, type, {base, exponent});
}

// exp(a + b) = exp(a) · exp(b), exp(-a) = 1 / exp(a): for all reals.
Sum NormalForms::exponential(const Sum& a) {
  Sum out = one();
  for (const Term& t : a) {
    Term part = t;
    const bool minus = part.coefficient.number < 0;
    if (minus) part.coefficient.number = -part.coefficient.number;
    const Sum factor = call(Fn::Exp, ElementType::Float, {{part}});
    used_laws_ = used_laws_ || minus || a.size() > 1;
    out = multiply(out, minus ? reciprocal(factor) : factor);
  }
  return out;
}

// ---- functions

namespace {

// Between which numbers an integer lies, as far as choices between numbers say: the larger of two is no less
// than either. Numbers that any type of indices holds: nothing here wraps.
struct Bounds {
  std::optional<Dim> low, high;
};
Bounds bounds_of(const Elements& elements, int id, int depth = 8) {
  const Element& e = elements[id];
  if (e.kind == Element::Kind::Number) {
    if (e.number.get_den() != 1 || abs(e.number) > 0x7fffffff) return {};
    const Dim number(e.number.get_num().get_si());
    return {number, number};
  }
  const bool chooses =
      e.kind == Element::Kind::Apply && (e.fn == Fn::Max || e.fn == Fn::Min || e.fn == Fn::Where);
  if (!chooses || depth == 0 || (e.type != ElementType::Int32 && e.type != ElementType::Int64)) return {};
  const std::size_t first = e.args.size() - 2;  // a choice has its condition before them
  const Bounds a = bounds_of(elements, e.args[first], depth - 1);
  const Bounds b = bounds_of(elements, e.args[first + 1], depth - 1);
  Bounds out;
  if (a.low && b.low) out.low = e.fn == Fn::Max ? Dim::max(*a.low, *b.low) : Dim::min(*a.low, *b.low);
  else if (e.fn == Fn::Max) out.low = a.low ? a.low : b.low;
  if (a.high && b.high) out.high = e.fn == Fn::Min ? Dim::min(*a.high, *b.high) : Dim::max(*a.high, *b.high);
  else if (e.fn == Fn::Min) out.high = a.high ? a.high : b.high;
  return out;
}

}  // namespace

// Whether it is a cast of integers to a type that holds numbers of their size: of any of them it is defined.
static bool is_cast_of_integers(Fn fn, ElementType type, ElementType of) {
  return fn == Fn::Cast && of != ElementType::Undefined && type != ElementType::Float16;
}

Piece NormalForms::apply_piece(Fn fn, ElementType type, const std::vector<int>& args,
                               const std::vector<Relation>& at, ElementType of) {
  std::vector<Rational> numbers;
  for (const int a : args)
    if (elements_[a].kind == Element::Kind::Number) numbers.push_back(elements_[a].number);
  // The condition is known: the choice is made here.
  if (fn == Fn::Where && elements_[args[0]].kind == Element::Kind::Number) {
    const std::size_t taken = elements_[args[0]].number != 0 ? 1 : 2;
    const Points everywhere = at[0].beside(at[1]).beside(at[2]).domain();
    return {args[taken], at[taken].on(everywhere)};
  }
  // For integers that are known to be far apart.
  if (fn == Fn::Less && args.size() == 2) {
    const Bounds a = bounds_of(elements_, args[0]), b = bounds_of(elements_, args[1]);
    const bool holds = a.high && b.low && b.low->at_least(*a.high + Dim(1)) == true;
    const bool fails = a.low && b.high && a.low->at_least(*b.high) == true;
    if (holds || fails) return {elements_.number(holds ? 1 : 0), to_nothing(at[0].beside(at[1]).domain())};
  }
  // A choice between small integers, as a float, is one between floats.
  if (fn == Fn::Cast && is_float(type)) {
    const Element& choice = elements_[args[0]];
    const auto is_small = [&](std::size_t k) {
      const Bounds known = bounds_of(elements_, choice.args[k]);
      return known.low && known.low == known.high && known.low->at_least(0) == true &&
             Dim(1024).at_least(*known.high) == true;
    };
    if (choice.kind == Element::Kind::Apply && choice.fn == Fn::Where && is_integer(choice.type) &&
        is_small(1) && is_small(2))
      return {elements_.apply(Fn::Where, type, choice.args), at[0]};
  }
  std::vector<std::size_t> order(args.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (is_commutative(fn) && args[1] < args[0]) std::swap(order[0], order[1]);
  Relation all = at[order[0]];
  std::vector<int> sorted{args[order[0]]};
  for (std::size_t i = 1; i < order.size(); ++i) {
    all = all.beside(at[order[i]]);
    sorted.push_back(args[order[i]]);
  }
  if (numbers.size() == args.size())
    if (const auto value = exact_value(fn, type, numbers)) return {elements_.number(*value), all};
  return {elements_.apply(fn, type, sorted, of), all};
}

std::vector<Piece> NormalForms::apply_pieces(Fn fn, ElementType type,
                                             const std::vector<std::vector<Piece>>& args, ElementType of) {
  struct Choice {
    std::vector<int> elements;
    std::vector<Relation> at;
    Points domain;
  };
  std::vector<Choice> choices;
  for (const Piece& p : args[0]) choices.push_back({{p.element}, {p.to}, p.to.domain()});
  for (std::size_t k = 1; k < args.size(); ++k) {
    std::vector<Choice> next;
    for (const Choice& c : choices) {
      for (const Piece& p : args[k]) {
        const Points both = c.domain & p.to.domain();
        if (both.is_empty()) continue;
        Choice more = c;
        more.elements.push_back(p.element);
        more.at.push_back(p.to);
        more.domain = both;
        next.push_back(std::move(more));
      }
    }
    choices = std::move(next);
    if (choices.size() > options_.budget.terms) throw Undecided("a function of values of too many pieces");
  }
  std::vector<Piece> out;
  for (Choice& c : choices) {
    for (Relation& r : c.at) r = r.on(c.domain);
    out.push_back(apply_piece(fn, type, c.elements, c.at, of));
  }
  return out;
}

// f(x[m(p)]) is (f x)[m(p)]: no set has to be built.
std::optional<Sum> NormalForms::call_on_movement(Fn fn, ElementType type, const Sum& arg, ElementType of) {
  if (arg.size() != 1) return std::nullopt;
  const Term& t = arg[0];
  if (!t.bound.empty() || t.factors.size() != 1 || t.coefficient.number != 1 ||
      !t.coefficient.symbols.empty())
    return std::nullopt;
  if (!t.where.empty() && !vanishes_at_zero(fn)) return std::nullopt;
  const Source s = source(t.factors[0].source);
  Source made{.extents = s.extents,
              .element = {},
              .pieces = {},
              .sign = is_float(type) ? isomer::sign_of(fn, {s.sign}) : Sign{},  // |-128| is -128
              .finite = s.finite,
              .reciprocal = {}};
  if (s.element) made.element = elements_.apply(fn, type, {*s.element}, of);
  else
    for (const Piece& p : s.pieces) made.pieces.push_back(apply_piece(fn, type, {p.element}, {p.to}, of));
  const bool is_total = !is_partial(fn) || is_cast_of_integers(fn, type, of) ||
                        (fn == Fn::Log && s.sign.positive()) || (fn == Fn::Sqrt && s.sign.nonnegative);
  // The same application has been made before, maybe with a reciprocal.
  std::optional<int> id;
  if (made.element)
    for (std::size_t i = 0; i < sources_.size() && !id; ++i)
      if (sources_[i].element == made.element && sources_[i].extents == made.extents)
        id = static_cast<int>(i);
  if (!id) id = add_source(std::move(made));
  if (!is_total) partial_.push_back(*id);
  if (is_float(type)) note_call_on(*id, fn, type, t.factors[0].source);
  return Sum{{.where = t.where, .factors = {{*id, t.factors[0].at}}}};
}

Sum NormalForms::call(Fn fn, ElementType type, std::vector<Sum> args, ElementType of) {
  if (is_float(type) || type == ElementType::Bool)
    if (auto out = through_look_up(args, {}, [&](const auto& each) { return call(fn, type, each, of); }))
      return *out;
  for (Sum& a : args) a = expanded(a);
  // Only for values that are not negative: a law of ordered numbers, which no finite field has.
  if (options_.laws && is_float(type) && (fn == Fn::Relu || fn == Fn::Abs) && !args[0].empty() &&
      is_finite(args[0]) && sign_of(args[0]).nonnegative) {
    used_laws_ = used_order_ = true;
    return args[0];
  }
  if (options_.laws && is_float(type))
    if (auto out = call_by_order(fn, type, args)) return *out;
  return call_without_order(fn, type, args, of);
}

Sum NormalForms::call_without_order(Fn fn, ElementType type, const std::vector<Sum>& args, ElementType of) {
  std::vector<Rational> numbers;
  for (const Sum& a : args)
    if (const auto number = as_number(a)) numbers.push_back(*number);
  if (numbers.size() == args.size())
    if (const auto value = exact_value(fn, type, numbers))
      return *value == 0 ? Sum{} : Sum{{.coefficient = {.number = *value}}};
  if (fn == Fn::Max && is_float(type) && (args[0].empty() || args[1].empty()))
    return call(Fn::Relu, type, {args[0].empty() ? args[1] : args[0]});
  if (args.size() == 1) {
    if (args[0].empty() && vanishes_at_zero(fn)) return {};
    if (fn == Fn::Exp && options_.laws && is_finite(args[0]) &&
        (args[0].size() > 1 || (args[0].size() == 1 && args[0][0].coefficient.number < 0)))
      return exponential(args[0]);
    if (auto moved = call_on_movement(fn, type, args[0], of)) return *moved;
    // For values at disjoint positions, f applies to each: none is present where another is, and f(0) = 0.
    if (vanishes_at_zero(fn) && are_apart(args[0])) {
      Sum out;
      for (const Term& t : args[0]) {
        auto moved = call_on_movement(fn, type, {t}, of);
        if (!moved) break;
        out.push_back(std::move((*moved)[0]));
      }
      if (out.size() == args[0].size()) return out;
    }
    if (options_.laws && is_float(type) && is_positively_homogeneous(fn) && is_finite(args[0]) &&
        !args[0].empty()) {
      Sum rest = args[0];
      Sum pulled = one();
      for (const SourceFactor& f : common_factors(rest)) {
        if (!source(f.source).sign.positive()) continue;
        rest = without(std::move(rest), f);
        pulled[0].factors.push_back(f);
        // A positive tensor is drawn as squares; for a computed value the field cannot ensure it.
        used_order_ = used_order_ || !is_drawn(f.source);
      }
      // Relus are handled with the laws of ordered numbers (normal_form_order.cpp).
      Rational largest = 0;
      for (const Term& t : rest) largest = std::max(largest, Rational(abs(t.coefficient.number)));
      if (fn == Fn::Relu || !is_square_mod_p(largest)) largest = 1;
      if (largest != 1 || !pulled[0].factors.empty()) {
        used_laws_ = true;
        pulled[0].coefficient.number = largest;
        return multiply(pulled, call(fn, type, {scaled(rest, Coefficient{.number = 1 / largest})}));
      }
    }
  }
  std::vector<Sign> signs;
  for (const Sum& a : args) signs.push_back(sign_of(a));
  return call_of_signs(fn, type, args, signs, of);
}

Sum NormalForms::call_of_signs(Fn fn, ElementType type, const std::vector<Sum>& args,
                               const std::vector<Sign>& signs, ElementType of) {
  std::vector<Axis> position;
  for (const Sum& a : args)
    for (const Axis& axis : free_axes(a))
      if (std::ranges::find(position, axis) == position.end()) position.push_back(axis);
  Dims extents;
  for (const Axis& a : position) extents.push_back(a.extent);
  const Points positions = box(space_, extents);
  std::vector<std::vector<Piece>> pieces;
  bool finite = true;
  for (const Sum& a : args) {
    pieces.push_back(elements_.pieces(polynomial(a, position), positions));
    finite = finite && is_finite(a);
  }
  const int id = add_source({.extents = extents,
                             .element = {},
                             .pieces = apply_pieces(fn, type, pieces, of),
                             .sign = is_float(type) ? isomer::sign_of(fn, signs) : Sign{},
                             .finite = finite,
                             .reciprocal = {}});
  const bool is_total = is_cast_of_integers(fn, type, of) ||
                        (fn == Fn::Div && is_float(type) && signs[1].nonzero) ||
                        (fn == Fn::Log && signs[0].positive()) || (fn == Fn::Sqrt && signs[0].nonnegative);
  if (is_partial(fn) && !is_total) partial_.push_back(id);
  const bool inverts = fn == Fn::Div && as_number(args[0]) == Rational(1);
  if (is_float(type) && (args.size() == 1 || inverts)) note_call(id, fn, type, args.back(), position);
  return {{.factors = {{id, to_indices(position)}}}};
}

Sum NormalForms::fold(Reduction reduction, ElementType type, const std::vector<Axis>& axes,
                      const Domain& domain, const Sum& of) {
  if (is_float(type))
    if (auto out = through_look_up(
            {of}, axes, [&](const auto& each) { return fold(reduction, type, axes, domain, each[0]); }))
      return *out;
  const Sum body = expanded(of);
  std::vector<Axis> position;
  const auto note = [&](const Axis& a) {
    if (std::ranges::find(axes, a) == axes.end() && std::ranges::find(position, a) == position.end())
      position.push_back(a);
  };
  std::ranges::for_each(free_axes(body), note);
  for (const Index& i : domain) std::ranges::for_each(i.axes(), note);
  std::vector<Axis> all = position;
  all.insert(all.end(), axes.begin(), axes.end());
  const int rank = static_cast<int>(all.size());
  RelationBuilder inside(space_, rank, 0, 0);
  Dims extents;
  for (int i = 0; i < rank; ++i) {
    const Axis& a = all[static_cast<std::size_t>(i)];
    inside.name_axis(a, i);
    inside.inside(i, a.extent);
    if (i < static_cast<int>(position.size())) extents.push_back(a.extent);
  }
  inside.hold(domain);
  const Points points = inside.finish().domain();
  // Over an empty domain it is infinite. (An axis of symbolic extent is assumed to have elements.)
  const bool is_bounded = domain.empty() && std::ranges::all_of(axes, [](const Axis& a) {
                            return !a.extent.is_concrete() || a.extent.concrete() > 0;
                          });
  const bool is_full =
      is_bounded || box(space_, extents).is_subset_of(points.first(static_cast<int>(position.size())));
  if (options_.laws && is_float(type) && is_full && is_finite(body))
    if (auto out = fold_by_order(reduction, type, axes, domain, body)) return *out;
  const auto bodies = elements_.pieces(on(polynomial(body, all), points), points);
  Sign sign = is_full ? sign_of(body) : Sign{};
  sign.nonzero = sign.positive();
  const int id = add_source({.extents = extents,
                             .element = {},
                             .pieces = elements_.fold(reduction, bodies, box(space_, extents)),
                             .sign = sign,
                             .finite = is_full && is_finite(body),
                             .reciprocal = {}});
  if (reduction == Reduction::Max) maxima_.insert(id);
  return {{.factors = {{id, to_indices(position)}}}};
}

Form NormalForms::sealed(const Form& form) {
  const bool is_movement = std::ranges::all_of(form.sum, [](const Term& t) {
    return t.bound.empty() && t.factors.size() <= 1 && t.coefficient.number == 1;
  });
  if (is_movement || form.sum.empty()) return form;
  Form out{.type = form.type, .axes = form.axes, .sum = {}};
  const int id =
      add_source({.extents = form.shape(),
                  .element = {},
                  .pieces = elements_.pieces(polynomial(form.sum, form.axes), box(space_, form.shape())),
                  .sign = sign_of(form.sum),
                  .finite = is_finite(form.sum),
                  .reciprocal = {}});
  out.sum.push_back({.factors = {{id, to_indices(form.axes)}}});
  return out;
}

// ---- equality

NormalForms::Unproved NormalForms::unproved_positions(const Form& a, const Form& b) {
  ISOMER_CHECK(a.axes.size() == b.axes.size() && a.type == b.type);
  const Sum moved = read(b, to_indices(a.axes));
  const Points positions = box(space_, a.shape());
  Unproved out{.positions = positions, .exact = false};
  // Tensors of any real values: not of truth values, of positions, of infinities; nor of integers, which
  // wrap.
  const auto is_tensors_only = [&](const Polynomial& p) {
    return std::ranges::all_of(p.groups, [&](const auto& g) {
      return g.first.symbols.empty() &&
             std::ranges::all_of(g.first.elements, [&](int e) { return real_.contains(e); });
    });
  };
  const Polynomial left = polynomial(a.sum, a.axes), right = polynomial(moved, a.axes);
  // Sizes that the preconditions exclude don't count, also where a set had no reason to speak of them.
  RelationBuilder sizes(space_, positions.rank(), 0, 0);
  sizes.hold_all_preconditions();
  out.positions = differing(left, right, positions - positions) & sizes.finish().domain();
  out.exact = !used_laws_ && !space_.has_opaque() && is_float(a.type) && is_tensors_only(left) &&
              is_tensors_only(right);
  return out;
}

std::optional<NormalForms::Doubt> NormalForms::why_not_equal(const Form& a, const Form& b) {
  if (a.type != b.type)
    return Doubt{fmt::format("the element types {} and {} differ", name(a.type), name(b.type))};
  if (a.axes.size() != b.axes.size())
    return Doubt{fmt::format("the ranks {} and {} differ", a.axes.size(), b.axes.size())};
  RelationBuilder sizes(space_, 0, 0, 0);
  sizes.hold_all_preconditions();
  if (sizes.finish().is_empty()) return Doubt{"no sizes satisfy the preconditions"};
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    const Dim &m = a.axes[i].extent, &n = b.axes[i].extent;
    if (m.equals(n) == true) continue;
    // n and m as sets of one point: equal for all values of the symbols?
    RelationBuilder left(space_, 1, 0, 0), right(space_, 1, 0, 0);
    left.equal(0, Index(m));
    right.equal(0, Index(n));
    if (!(left.finish().domain() == right.finish().domain()))
      return Doubt{fmt::format("axis {} has the extents {} and {}", i, m.text(), n.text())};
  }
  const Unproved unproved = unproved_positions(a, b);
  if (unproved.positions.is_empty()) return std::nullopt;
  return Doubt{.why = "", .positions = unproved.positions.text()};
}

// The coordinates at which elements take part in forms, under functions too.
std::map<int, Points> NormalForms::coordinates_in(const std::vector<Form>& forms) {
  std::map<int, Points> out;
  std::vector<std::pair<int, Points>> open;
  const auto visit = [&](const Polynomial& polynomial) {
    for (const auto& [group, weighted] : polynomial.groups) {
      for (const Weighted& w : weighted) {
        int first = 0;
        for (const int e : group.elements) {
          const int rank = elements_[e].rank;
          open.emplace_back(e, w.at.outs(first, rank).range());
          first += rank;
        }
      }
    }
  };
  for (const Form& f : forms) visit(polynomial(f.sum, f.axes));
  while (!open.empty()) {
    auto [id, points] = std::move(open.back());
    open.pop_back();
    const auto known = out.find(id);
    if (known != out.end()) {
      if (points.is_subset_of(known->second)) continue;
      points = points - known->second;
      known->second = (known->second | points).coalesce();
    } else {
      out.emplace(id, points);
    }
    const Element& e = elements_[id];
    if (e.kind == Element::Kind::Apply) {
      int first = 0;
      const Relation all = identity_on(points);
      for (std::size_t k = 0; k < e.args.size(); ++k) {
        const int rank = elements_[e.args[k]].rank;
        // The branch that a choice does not take may be undefined.
        if (e.fn != Fn::Where || k == 0) open.emplace_back(e.args[k], all.outs(first, rank).range());
        first += rank;
      }
    } else if (e.kind == Element::Kind::Polynomial || e.kind == Element::Kind::Fold) {
      visit(on(e.body, points));
    }
  }
  return out;
}

// Integers between numbers, and positions as numbers, that lie in -extent..extent-1.
bool NormalForms::is_inside(const Piece& piece, const Dim& extent) {
  const Bounds known = bounds_of(elements_, piece.element);
  if (known.low && known.high)
    return extent.at_least(*known.high + Dim(1)) == true && (*known.low + extent).at_least(0) == true;
  if (!index_numbers_ || source(*index_numbers_).element != piece.element) return false;
  RelationBuilder inside(space_, 1, 0, 0);
  const Axis axis = maker_.axis(extent);
  inside.name_axis(axis, 0);
  inside.hold(between(Index(Dim(0) - extent), Index(axis), Index(extent)));
  return piece.to.range().is_subset_of(inside.finish().domain());
}

bool NormalForms::are_indices(const Indices& indices, const std::vector<Indices>& known) {
  const auto pieces = [&](const Form& f) {
    return elements_.pieces(polynomial(f.sum, f.axes), box(space_, f.shape()));
  };
  std::map<int, Points> inside;
  for (const Indices& k : known) {
    if (indices.extent.at_least(k.extent) != true) continue;
    for (const Piece& p : pieces(k.form)) {
      const auto [at, is_new] = inside.try_emplace(p.element, p.to.range());
      if (!is_new) at->second = at->second | p.to.range();
    }
  }
  return std::ranges::all_of(pieces(indices.form), [&](const Piece& p) {
    if (is_inside(p, indices.extent)) return true;
    const auto at = inside.find(p.element);
    return at != inside.end() && p.to.range().is_subset_of(at->second);
  });
}

bool NormalForms::is_defined_with(std::size_t mark, const std::vector<Form>& original) {
  if (mark == partial_.size()) return true;
  const auto known = coordinates_in(original);
  for (const int id : std::set<int>(partial_.begin() + static_cast<std::ptrdiff_t>(mark), partial_.end())) {
    for (const Piece& p : pieces_of(id)) {
      const Element& e = elements_[p.element];
      if (e.kind == Element::Kind::Number) continue;
      const auto at = known.find(p.element);
      if (at == known.end() || !p.to.range().is_subset_of(at->second)) return false;
    }
  }
  return true;
}

}  // namespace isomer
