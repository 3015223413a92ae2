// Monotone functions keep the order of numbers: the part of NormalForms that moves them out of maxima and
// minima and off comparisons.
//
//   max_k f(y_k) = f(max_k y_k) for f that rises, f(min_k y_k) for f that falls, k from a set that is not
//   empty; f(a) < f(b) iff a < b for f that rises strictly, if it keeps floats apart, too.
//
// f is what a sum is as a function of one number: piecewise linear functions of it, known functions of such,
// sums of these that all rise or all fall. Laws of real numbers, and of no finite field.
#include <algorithm>

#include "kernel/normal/normal_form.h"
#include "kernel/normal/piecewise_linear.h"

namespace isomer {
namespace {

bool is_plain(const Term& t) { return t.bound.empty() && t.where.empty() && t.coefficient.symbols.empty(); }

Sum times(Sum sum, const Rational& k) { return scaled(std::move(sum), Coefficient{.number = k}); }

// Inside of a domain its conditions need not be said.
Sum inside(Sum sum, const Domain& domain) {
  for (Term& t : sum)
    std::erase_if(t.where, [&](const Index& i) { return std::ranges::find(domain, i) != domain.end(); });
  return sum;
}

bool depends_on(const Term& term, const std::vector<Axis>& axes) {
  return std::ranges::any_of(axes, [&](const Axis& a) {
    const auto says = [&](const Index& i) { return i.mentions(a); };
    return std::ranges::any_of(term.where, says) ||
           std::ranges::any_of(term.factors, [&](const auto& f) { return std::ranges::any_of(f.at, says); });
  });
}

Reduction turned(Reduction r) { return r == Reduction::Max ? Reduction::Min : Reduction::Max; }

// The directions of two summands, or of all pieces: nullopt: one up, one down.
std::optional<int> both(std::optional<int> a, int b) {
  if (!a || (*a != 0 && b != 0 && *a != b)) return std::nullopt;
  return *a != 0 ? *a : b;
}

std::optional<int> direction_of(const PiecewiseLinear& f) {
  Rational slope = f.slope;
  std::optional<int> out = sgn(slope);
  for (const auto& [knot, bend] : f.bends) out = both(out, sgn(slope += bend));
  return out;
}

}  // namespace

void NormalForms::note_call(int id, Fn fn, ElementType type, const Sum& argument,
                            const std::vector<Axis>& axes) {
  calls_.try_emplace(id, Call{.fn = fn, .type = type, .argument = argument, .axes = axes});
}

void NormalForms::note_call_on(int id, Fn fn, ElementType type, int of) {
  if (calls_.contains(id)) return;
  std::vector<Axis> axes;
  for (const Dim& d : source(id).extents) axes.push_back(maker_.axis(d));
  note_call(id, fn, type, {{.factors = {{of, to_indices(axes)}}}}, axes);
}

Sum NormalForms::argument(const SourceFactor& factor) {
  const Call& call = calls_.at(factor.source);
  return read({.type = call.type, .axes = call.axes, .sum = call.argument}, factor.at);
}

std::optional<Sum> NormalForms::exponent(const Term& term) {
  if (!is_plain(term) || term.factors.empty()) return std::nullopt;
  Sum out;
  for (const SourceFactor& f : term.factors) {
    const bool inverse = calls_.contains(f.source) && calls_.at(f.source).fn == Fn::Div &&
                         source(f.source).reciprocal.has_value();
    const SourceFactor of{inverse ? *source(f.source).reciprocal : f.source, f.at};
    const auto call = calls_.find(of.source);
    if (call == calls_.end() || call->second.fn != Fn::Exp) return std::nullopt;
    out = add(std::move(out), times(argument(of), inverse ? -1 : 1));
  }
  return out;
}

// A sum as start + Σ f(base), f piecewise linear, of several numbers.
struct NormalForms::Parts {
  struct Part {
    Sum base;
    PiecewiseLinear f = {};
    bool is_rest = false;  // nothing is known of how it was made
  };
  std::vector<Part> list;
  Rational start = 0;
};

NormalForms::Parts NormalForms::parts_of(const Sum& sum, const Domain& domain) {
  Parts out;
  const auto part = [&](Sum base) -> Parts::Part& {
    for (Parts::Part& p : out.list)
      if (is_same(p.base, base)) return p;
    return out.list.emplace_back(Parts::Part{.base = std::move(base)});
  };
  Sum rest;
  for (const Term& t : sum) {
    const int of = t.factors.size() == 1 ? t.factors[0].source : -1;
    if (is_plain(t) && t.factors.empty()) out.start += t.coefficient.number;
    else if (is_plain(t) && bends_.contains(of))
      part(inside(bent(t.factors[0]), domain)).f.add_bend(bends_.at(of).knot, t.coefficient.number);
    else if (is_plain(t) && (calls_.contains(of) || exponent(t)))
      part({{.factors = t.factors}}).f.slope += t.coefficient.number;
    else rest.push_back(t);
  }
  if (rest.empty()) return out;
  const Rational k = leading(rest);
  Parts::Part& all = part(times(std::move(rest), 1 / k));
  all.f.slope += k;
  all.is_rest = true;
  return out;
}

// The argument of a known function; nullopt: it is a number like any other.
std::optional<Sum> NormalForms::inner(const Sum& base, const Domain& domain) {
  if (base.size() != 1 || !is_plain(base[0]) || base[0].coefficient.number != 1) return std::nullopt;
  if (auto sum = exponent(base[0])) return inside(std::move(*sum), domain);
  if (base[0].factors.size() != 1 || !calls_.contains(base[0].factors[0].source)) return std::nullopt;
  return inside(argument(base[0].factors[0]), domain);
}

Sum NormalForms::number_in(const Sum& sum, const Domain& domain) {
  const Parts parts = parts_of(sum, domain);
  std::optional<Sum> out;
  for (const Parts::Part& p : parts.list) {
    const auto argument = inner(p.base, domain);
    Sum here = argument ? number_in(*argument, domain) : p.is_rest ? p.base : number_in(p.base, domain);
    if (out && !is_same(*out, here)) {
      const Sum all = add(sum, Sum{{.coefficient = {.number = -parts.start}}});
      return times(all, 1 / leading(all));
    }
    out = std::move(here);
  }
  return out ? *out : sum;
}

std::optional<NormalForms::Followed> NormalForms::follow(const Sum& sum, const Sum& y, const Sum& put,
                                                         const Domain& domain) {
  const auto with = [&](Sum value, const Rational& start) {
    return start == 0 ? value : add(std::move(value), Sum{{.coefficient = {.number = start}}});
  };
  const Parts parts = parts_of(sum, domain);
  const Sum moving = with(sum, -parts.start);
  if (moving.empty()) return Followed{0, sum};
  const Rational scale = leading(moving);
  if (is_same(times(moving, 1 / scale), y)) return Followed{sgn(scale), with(times(put, scale), parts.start)};
  std::optional<int> direction = 0;
  Sum value = with({}, parts.start);
  for (const Parts::Part& p : parts.list) {
    Followed base{1, put};
    ElementType type = ElementType::Float;
    if (const auto argument = inner(p.base, domain)) {
      const auto below = follow(*argument, y, put, domain);
      const Call& call = calls_.at(p.base[0].factors[0].source);
      const Fn fn = exponent(p.base[0]) ? Fn::Exp : call.fn;
      type = call.type;
      if (!below || (fn == Fn::Div && !sign_of(*argument).positive())) return std::nullopt;
      base.direction = order_of(fn).direction * below->direction;
      if (base.direction == 0 && below->direction != 0) return std::nullopt;
      base.value = fn == Fn::Div ? reciprocal(below->value) : this->call(fn, type, {below->value}, {});
    } else if (!is_same(p.base, y)) {
      auto below = p.is_rest ? std::nullopt : follow(p.base, y, put, domain);
      if (!below) return std::nullopt;
      base = std::move(*below);
    }
    const auto own = direction_of(p.f);
    if (!own) return std::nullopt;
    direction = both(direction, *own * base.direction);
    if (!direction) return std::nullopt;
    value = add(std::move(value), times(base.value, p.f.slope));
    for (const auto& [knot, bend] : p.f.bends)
      value = add(std::move(value), times(this->call(Fn::Relu, type, {with(base.value, -knot)}), bend));
  }
  return Followed{*direction, std::move(value)};
}

std::optional<Sum> NormalForms::fold_by_order(Reduction reduction, ElementType type,
                                              const std::vector<Axis>& axes, const Domain& domain,
                                              const Sum& of) {
  Sum body = inside(of, domain);
  const auto folded = [&](int direction, const Sum& what) {
    used_laws_ = used_order_ = true;
    return fold(direction > 0 ? reduction : turned(reduction), type, axes, domain, what);
  };
  // max(c + s·y) = c + s·max y, where c and s > 0 are the same for all.
  Sum fixed, rest;
  for (const Term& t : body) (depends_on(t, axes) ? rest : fixed).push_back(t);
  used_laws_ = used_laws_ || rest.empty();
  if (rest.empty()) return body;
  const Rational scale = leading(rest);
  Sum pulled{{.coefficient = {.number = scale}}};
  Sum y = times(rest, 1 / scale);
  for (const SourceFactor& f : common_factors(rest)) {
    if (!source(f.source).sign.positive() || depends_on({.factors = {f}}, axes)) continue;
    for (Term& t : y) t.factors.erase(std::ranges::find(t.factors, f));
    pulled[0].factors.push_back(f);
  }
  if (!fixed.empty() || scale != 1 || !pulled[0].factors.empty())
    return add(fixed, multiply(pulled, folded(sgn(scale), y)));
  const Sum number = number_in(body, domain);
  if (is_same(number, body)) return std::nullopt;
  const auto tried = follow(body, number, number, domain);
  if (!tried || tried->direction == 0) return std::nullopt;
  return follow(body, number, folded(tried->direction, number), domain)->value;
}

void NormalForms::compare_simpler(Fn comparison, Sum& a, Sum& b) {
  if (!is_finite(a) || !is_finite(b)) return;
  const auto is_single = [](const Sum& s) {
    return s.size() == 1 && is_plain(s[0]) && !s[0].factors.empty();
  };
  const auto changed = [&] { used_laws_ = used_order_ = true; };
  const auto is_maximum = [&](const Sum& s) {
    return is_single(s) && s[0].factors.size() == 1 && maxima_.contains(s[0].factors[0].source);
  };
  while (true) {
    // s·a, s·b
    if (is_single(a) && is_single(b) && a[0].coefficient.number == b[0].coefficient.number) {
      if (a[0].coefficient.number < 0) std::swap(a, b);
      a[0].coefficient.number = b[0].coefficient.number = 1;
      for (const SourceFactor& f : std::vector(a[0].factors)) {
        const auto twin = std::ranges::find(b[0].factors, f);
        if (twin == b[0].factors.end() || !source(f.source).sign.positive()) continue;
        b[0].factors.erase(twin);
        a[0].factors.erase(std::ranges::find(a[0].factors, f));
        changed();
      }
    }
    const auto call_of = [&](const Sum& s) -> const Call* {
      if (!is_single(s) || s[0].coefficient.number != 1 || s[0].factors.size() != 1) return nullptr;
      const auto at = calls_.find(s[0].factors[0].source);
      return at == calls_.end() || !order_of(at->second.fn).strict || at->second.fn == Fn::Div ? nullptr
                                                                                               : &at->second;
    };
    const Call *f = call_of(a), *g = call_of(b);
    // f(a), f(b), or f(0) as a number
    const auto is_at_zero = [&](const Call* call, const Sum& other) {
      if (call == nullptr || is_single(other)) return false;
      const auto at_zero = exact_value(call->fn, call->type, {Rational(0)});
      return at_zero && is_same(other, *at_zero == 0 ? Sum{} : Sum{{.coefficient = {.number = *at_zero}}});
    };
    const bool are_both = f != nullptr && g != nullptr && f->fn == g->fn;
    if (!are_both && !is_at_zero(f, b) && !is_at_zero(g, a)) return;
    const Fn fn = f != nullptr ? f->fn : g->fn;
    Sum left = f != nullptr ? argument(a[0].factors[0]) : Sum{},
        right = g != nullptr ? argument(b[0].factors[0]) : Sum{};
    // The largest of exponentials is not lost: where the largest is equal to others, they are near it.
    const bool finds_largest =
        fn == Fn::Exp && comparison == Fn::Equal && (is_maximum(left) || is_maximum(right));
    if (are_both && order_of(fn).saturates && !finds_largest) return;
    if (order_of(fn).direction < 0) std::swap(left, right);
    a = std::move(left);
    b = std::move(right);
    changed();
  }
}

}  // namespace isomer
