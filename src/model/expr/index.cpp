#include "model/expr/index.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace isomer {

bool operator==(const Index::Atom& a, const Index::Atom& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == Index::AtomKind::Axis) return a.axis == b.axis;
  return a.divisor == b.divisor && *a.inner == *b.inner;
}

bool operator==(const Index& a, const Index& b) {
  if (!(a.offset_ == b.offset_) || a.terms_.size() != b.terms_.size()) return false;
  return std::ranges::all_of(
      a.terms_, [&](const Index::Term& t) { return std::ranges::find(b.terms_, t) != b.terms_.end(); });
}

Index::Index(const Axis& axis)
    : terms_{Term{.scale = 1, .atom = {.kind = AtomKind::Axis, .axis = axis, .inner = {}, .divisor = {}}}} {}

Index Index::of_term(const Term& term) {
  Index out;
  out.add_term(term.scale, term.atom);
  return out;
}

void Index::add_term(const Dim& scale, const Atom& atom) {
  const auto at = std::ranges::find_if(terms_, [&](const Term& t) { return t.atom == atom; });
  if (at == terms_.end()) {
    if (!scale.is(0)) terms_.push_back({scale, atom});
    return;
  }
  at->scale = at->scale + scale;
  if (at->scale.is(0)) terms_.erase(at);
}

std::optional<Axis> Index::as_axis() const {
  if (!offset_.is(0) || terms_.size() != 1 || !terms_[0].scale.is(1) || terms_[0].atom.kind != AtomKind::Axis)
    return std::nullopt;
  return terms_[0].atom.axis;
}

std::vector<Axis> Index::axes() const {
  std::vector<Axis> out;
  for (const Term& t : terms_) {
    const auto inner = t.atom.kind == AtomKind::Axis ? std::vector{t.atom.axis} : t.atom.inner->axes();
    for (const Axis& a : inner)
      if (std::ranges::find(out, a) == out.end()) out.push_back(a);
  }
  return out;
}

bool Index::mentions(const Axis& axis) const {
  return std::ranges::any_of(terms_, [&](const Term& t) {
    return t.atom.kind == AtomKind::Axis ? t.atom.axis == axis : t.atom.inner->mentions(axis);
  });
}

Index operator+(const Index& a, const Index& b) {
  Index out = a;
  out.offset_ = out.offset_ + b.offset_;
  for (const Index::Term& t : b.terms_) out.add_term(t.scale, t.atom);
  return out;
}

Index operator*(const Dim& scale, const Index& a) {
  Index out;
  out.offset_ = scale * a.offset_;
  for (const Index::Term& t : a.terms_) out.add_term(scale * t.scale, t.atom);
  return out;
}

Index operator-(const Index& a, const Index& b) { return a + Dim(-1) * b; }

namespace {

// a = divisor·whole + rest, with every term that the divisor divides in `whole`.
struct Split {
  Index whole, rest;
};

Split split(const Index& a, const Dim& divisor) {
  Split out;
  for (const Index::Term& t : a.terms()) {
    if (const auto q = Dim::exact_quotient(t.scale, divisor))
      out.whole = out.whole + Index::of_term({*q, t.atom});
    else out.rest = out.rest + Index::of_term(t);
  }
  if (const auto q = Dim::exact_quotient(a.offset(), divisor)) {
    out.whole = out.whole + Index(*q);
  } else if (a.offset().is_concrete() && divisor.is_concrete()) {
    out.whole = out.whole + Index(Dim::floor(a.offset(), divisor));
    out.rest = out.rest + Index(Dim::mod(a.offset(), divisor));
  } else {
    out.rest = out.rest + Index(a.offset());
  }
  return out;
}

}  // namespace

Index Index::floor(const Index& a, const Dim& divisor) {
  ISOMER_CHECK(!divisor.is_concrete() || divisor.concrete() > 0,
               "an index is divided by positive numbers only");
  if (divisor.is(1)) return a;
  if (a.is_constant()) return Index(Dim::floor(a.offset_, divisor));
  const Split s = split(a, divisor);
  if (s.rest.is_constant() && s.rest.offset_.is(0)) return s.whole;
  if (s.rest.is_inside(divisor)) return s.whole;
  // The rest may lie in another single period than the first.
  if (const auto range = s.rest.range();
      range && range->low.is_concrete() && range->high.is_concrete() && divisor.is_concrete()) {
    const std::int64_t low = floor_div(range->low.concrete(), divisor.concrete());
    if (low == floor_div(range->high.concrete(), divisor.concrete())) return s.whole + Index(low);
  }
  // floor(floor(x / a) / b) = floor(x / (a·b))
  if (s.rest.offset_.is(0) && s.rest.terms_.size() == 1 && s.rest.terms_[0].scale.is(1) &&
      s.rest.terms_[0].atom.kind == AtomKind::Floor) {
    const Atom& inner = s.rest.terms_[0].atom;
    return s.whole + floor(*inner.inner, inner.divisor * divisor);
  }
  Index out = s.whole;
  out.add_term(1, {.kind = AtomKind::Floor,
                   .axis = {},
                   .inner = std::make_shared<const Index>(s.rest),
                   .divisor = divisor});
  return out;
}

Index Index::mod(const Index& a, const Dim& divisor) {
  ISOMER_CHECK(!divisor.is_concrete() || divisor.concrete() > 0,
               "an index is divided by positive numbers only");
  if (divisor.is(1)) return 0;
  if (a.is_constant()) return Index(Dim::mod(a.offset_, divisor));
  Index rest = split(a, divisor).rest;
  if (rest.is_inside(divisor)) return rest;
  if (const auto range = rest.range();
      range && range->low.is_concrete() && range->high.is_concrete() && divisor.is_concrete()) {
    const std::int64_t low = floor_div(range->low.concrete(), divisor.concrete());
    if (low == floor_div(range->high.concrete(), divisor.concrete())) return rest - Index(low * divisor);
  }
  // (x mod k·q) mod q = x mod q
  if (rest.offset_.is(0) && rest.terms_.size() == 1 && rest.terms_[0].scale.is(1) &&
      rest.terms_[0].atom.kind == AtomKind::Mod && Dim::exact_quotient(rest.terms_[0].atom.divisor, divisor))
    return mod(*rest.terms_[0].atom.inner, divisor);
  Index out;
  out.add_term(
      1,
      {.kind = AtomKind::Mod, .axis = {}, .inner = std::make_shared<const Index>(rest), .divisor = divisor});
  return out;
}

Index Index::recombine() const {
  for (const Term& t : terms_) {
    if (t.atom.kind != AtomKind::Mod) continue;
    const Index quotient = floor(*t.atom.inner, t.atom.divisor);
    if (quotient.terms_.size() != 1 || !quotient.offset_.is(0) || !quotient.terms_[0].scale.is(1)) continue;
    const Term partner{t.scale * t.atom.divisor, quotient.terms_[0].atom};
    if (std::ranges::find(terms_, partner) == terms_.end()) continue;
    return (*this - of_term(t) - of_term(partner) + t.scale * *t.atom.inner).recombine();
  }
  return *this;
}

std::optional<Index::Range> Index::range() const {
  Range out{.low = offset_, .high = offset_};
  for (const Term& t : terms_) {
    Range atom{.low = 0, .high = 0};
    switch (t.atom.kind) {
      case AtomKind::Axis:
        if (!t.atom.axis.extent.is(0)) atom.high = t.atom.axis.extent - Dim(1);
        break;
      case AtomKind::Mod: atom.high = t.atom.divisor - Dim(1); break;
      case AtomKind::Floor: {
        const auto inner = t.atom.inner->range();
        if (!inner) return std::nullopt;
        atom = {.low = Dim::floor(inner->low, t.atom.divisor),
                .high = Dim::floor(inner->high, t.atom.divisor)};
        break;
      }
    }
    const auto rises = t.scale.at_least(0);
    if (!rises) return std::nullopt;
    out.low = out.low + t.scale * (*rises ? atom.low : atom.high);
    out.high = out.high + t.scale * (*rises ? atom.high : atom.low);
  }
  return out;
}

bool Index::is_inside(const Dim& extent) const {
  const auto r = range();
  return r && r->low.at_least(0).value_or(false) && (extent - Dim(1)).at_least(r->high).value_or(false);
}

Index Index::substitute(const std::function<Index(const Axis&)>& by) const {
  Index out(offset_);
  for (const Term& t : terms_) {
    switch (t.atom.kind) {
      case AtomKind::Axis: out = out + t.scale * by(t.atom.axis); break;
      case AtomKind::Floor: out = out + t.scale * floor(t.atom.inner->substitute(by), t.atom.divisor); break;
      case AtomKind::Mod: out = out + t.scale * mod(t.atom.inner->substitute(by), t.atom.divisor); break;
    }
  }
  return out;
}

Index Index::substitute_symbols(const Dim::Substitution& by) const {
  Index out(offset_.substitute(by));
  for (const Term& t : terms_) {
    const Dim scale = t.scale.substitute(by);
    if (t.atom.kind == AtomKind::Axis) {
      out = out + scale * Index(Axis{t.atom.axis.id, t.atom.axis.extent.substitute(by)});
      continue;
    }
    const Index inner = t.atom.inner->substitute_symbols(by);
    const Dim divisor = t.atom.divisor.substitute(by);
    out = out + scale * (t.atom.kind == AtomKind::Floor ? floor(inner, divisor) : mod(inner, divisor));
  }
  return out;
}

std::string Index::text() const {
  std::string out;
  for (const Term& t : terms_) {
    std::string atom;
    switch (t.atom.kind) {
      case AtomKind::Axis: atom = fmt::format("a{}", t.atom.axis.id); break;
      case AtomKind::Floor:
        atom = fmt::format("floor(({})/{})", t.atom.inner->text(), t.atom.divisor.text());
        break;
      case AtomKind::Mod:
        atom = fmt::format("({}) mod {}", t.atom.inner->text(), t.atom.divisor.text());
        break;
    }
    const bool minus = t.scale.is_concrete() && t.scale.concrete() < 0;
    const Dim size = minus ? Dim(-1) * t.scale : t.scale;
    out += out.empty() ? (minus ? "-" : "") : (minus ? " - " : " + ");
    if (size.is(1)) out += atom;
    else
      out += size.is_concrete() ? fmt::format("{}*{}", size.text(), atom)
                                : fmt::format("({})*{}", size.text(), atom);
  }
  if (out.empty()) return offset_.text();
  if (offset_.is(0)) return out;
  if (offset_.is_concrete() && offset_.concrete() < 0)
    return fmt::format("{} - {}", out, (Dim(0) - offset_).text());
  return fmt::format("{} + {}", out, offset_.text());
}

Index linearize(const std::vector<Index>& position, const Dims& shape) {
  ISOMER_CHECK(position.size() == shape.size());
  Index out = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) out = shape[i] * out + position[i];
  return out.recombine();
}

std::vector<Index> delinearize(const Index& linear, const Dims& shape) {
  std::vector<Index> out(shape.size());
  Dim stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    // An extent of zero has no positions; any index will do.
    if (shape[i].is(0) || stride.is(0)) continue;
    out[i] = Index::mod(Index::floor(linear, stride), shape[i]);
    stride = stride * shape[i];
  }
  return out;
}

std::vector<Index> to_indices(const std::vector<Axis>& axes) { return {axes.begin(), axes.end()}; }

}  // namespace isomer
