#include "model/expr/dim.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"

namespace isomer {

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw DimOverflow();
  return sum;
}

std::int64_t checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw DimOverflow();
  return product;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  ISOMER_CHECK(b != 0);
  if (b == -1) return checked_multiply(a, -1);
  const std::int64_t q = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? q - 1 : q;
}

std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  ISOMER_CHECK(b != 0);
  if (b == -1) return 0;
  const std::int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// A symbol, or floor, max or min of two forms. Its canonical text is its identity: a symbol whose name isn't
// a plain word is quoted in it, so that no name can pass for an expression.
struct DimAtom {
  using Kind = Dim::Factor::Kind;
  Kind kind = Kind::Symbol;
  std::string text;
  Dim a, b;
  std::string name = {};  // of a symbol
  friend bool operator==(const DimAtom& x, const DimAtom& y) { return x.text == y.text; }
  friend auto operator<=>(const DimAtom& x, const DimAtom& y) { return x.text <=> y.text; }
};

namespace {

// A limit far above any real model's extents; a chain of nodes that squares a symbol, or nests floors and
// maxima, would otherwise fill the memory.
constexpr std::size_t kMostFactors = 32;
constexpr std::size_t kMostTerms = 256;
constexpr std::size_t kLongestAtom = 4096;

using AtomRef = std::shared_ptr<const DimAtom>;
// A product of atoms, sorted; the empty product is 1.
using Monomial = std::vector<AtomRef>;

struct MonomialLess {
  bool operator()(const Monomial& a, const Monomial& b) const {
    return std::ranges::lexicographical_compare(a, b,
                                                [](const AtomRef& x, const AtomRef& y) { return *x < *y; });
  }
};

Monomial times(const Monomial& a, const Monomial& b) {
  if (a.size() + b.size() > kMostFactors) throw DimOverflow();
  Monomial out;
  std::ranges::merge(a, b, std::back_inserter(out),
                     [](const AtomRef& x, const AtomRef& y) { return *x < *y; });
  return out;
}

// a / b as monomials; nullopt if b isn't a part of a.
std::optional<Monomial> quotient(Monomial a, const Monomial& b) {
  for (const AtomRef& atom : b) {
    const auto at = std::ranges::find_if(a, [&](const AtomRef& x) { return *x == *atom; });
    if (at == a.end()) return std::nullopt;
    a.erase(at);
  }
  return a;
}

}  // namespace

struct Dim::Form {
  std::map<Monomial, std::int64_t, MonomialLess> terms;  // no zero coefficients
  void add(const Monomial& monomial, std::int64_t coefficient) {
    if (terms.size() >= kMostTerms) throw DimOverflow();
    const auto [at, inserted] = terms.try_emplace(monomial, coefficient);
    if (!inserted) at->second = checked_add(at->second, coefficient);
    if (at->second == 0) terms.erase(at);
  }
};

Dim Dim::of(Form form) {
  if (form.terms.empty()) return 0;
  if (form.terms.size() == 1 && form.terms.begin()->first.empty()) return form.terms.begin()->second;
  return Dim(std::make_shared<const Form>(std::move(form)));
}

Dim::Form Dim::as_form() const {
  if (form_) return *form_;
  Form form;
  form.add({}, value_);
  return form;
}

Dim Dim::atom(DimAtom atom) {
  if (atom.kind != DimAtom::Kind::Symbol && atom.text.size() > kLongestAtom) throw DimOverflow();
  Form form;
  form.add({std::make_shared<const DimAtom>(std::move(atom))}, 1);
  return of(std::move(form));
}

Dim Dim::symbol(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '?' || c == ':';
  };
  const bool plain =
      !name.empty() && !(name[0] >= '0' && name[0] <= '9') && std::ranges::all_of(name, is_plain);
  std::string text(name);
  if (!plain) {
    text = "\"";
    for (const char c : name) text += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    text += "\"";
  }
  return atom(
      {.kind = DimAtom::Kind::Symbol, .text = std::move(text), .a = {}, .b = {}, .name = std::string(name)});
}

std::int64_t Dim::concrete() const {
  ISOMER_CHECK(is_concrete(), text() + " is symbolic");
  return value_;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (!a.form_ && !b.form_) return checked_add(a.value_, b.value_);
  Dim::Form form = a.as_form();
  for (const auto& [monomial, coefficient] : b.as_form().terms) form.add(monomial, coefficient);
  return Dim::of(std::move(form));
}

Dim operator-(const Dim& a, const Dim& b) { return a + Dim(-1) * b; }

Dim operator*(const Dim& a, const Dim& b) {
  if (!a.form_ && !b.form_) return checked_multiply(a.value_, b.value_);
  Dim::Form form;
  const Dim::Form left = a.as_form(), right = b.as_form();
  for (const auto& [m, c] : left.terms)
    for (const auto& [n, d] : right.terms) form.add(times(m, n), checked_multiply(c, d));
  return Dim::of(std::move(form));
}

bool operator==(const Dim& a, const Dim& b) {
  if (!a.form_ || !b.form_) return !a.form_ && !b.form_ && a.value_ == b.value_;
  if (a.form_ == b.form_) return true;
  return std::ranges::equal(a.form_->terms, b.form_->terms, [](const auto& x, const auto& y) {
    return x.second == y.second &&
           std::ranges::equal(x.first, y.first, [](const AtomRef& p, const AtomRef& q) { return *p == *q; });
  });
}

// Division by one term decides most cases: sizes are products. A longer divisor must divide as a whole.
std::optional<Dim> Dim::exact_quotient(const Dim& a, const Dim& b) {
  if (b.is(0)) return std::nullopt;
  if (a == b) return Dim(1);
  const Form divisor = b.as_form();
  if (divisor.terms.size() == 1) {
    const auto& [monomial, coefficient] = *divisor.terms.begin();
    Form out;
    for (const auto& [m, c] : a.as_form().terms) {
      const auto rest = quotient(m, monomial);
      if (!rest || floor_mod(c, coefficient) != 0) return std::nullopt;
      out.add(*rest, floor_div(c, coefficient));
    }
    return of(std::move(out));
  }
  // Long division by the leading term, in the order of the map's last element.
  const auto& [lead, lead_coefficient] = *divisor.terms.rbegin();
  Dim rest = a, out = 0;
  for (int step = 0; step < 64 && !rest.is(0); ++step) {
    const Form form = rest.as_form();
    bool divided = false;
    for (const auto& [m, c] : form.terms) {
      const auto q = quotient(m, lead);
      if (!q || floor_mod(c, lead_coefficient) != 0) continue;
      Form term;
      term.add(*q, floor_div(c, lead_coefficient));
      const Dim part = of(std::move(term));
      out = out + part;
      rest = rest - part * b;
      divided = true;
      break;
    }
    if (!divided) return std::nullopt;
  }
  return rest.is(0) ? std::optional(out) : std::nullopt;
}

Dim Dim::floor(const Dim& a, const Dim& b) {
  ISOMER_CHECK(!b.is(0), "division by an extent of zero");
  if (!a.form_ && !b.form_) return floor_div(a.value_, b.value_);
  if (const auto exact = exact_quotient(a, b)) return *exact;
  // Terms that b divides come out of the floor, so that floor((2·n + 1)/2) = n.
  if (!b.form_ && b.value_ > 0) {
    Form whole, rest;
    for (const auto& [m, c] : a.as_form().terms) {
      const std::int64_t q = floor_div(c, b.value_);
      if (q != 0) whole.add(m, q);
      if (floor_mod(c, b.value_) != 0) rest.add(m, floor_mod(c, b.value_));
    }
    const Dim remainder = of(std::move(rest));
    if (remainder.is_concrete()) return of(std::move(whole)) + floor_div(remainder.value_, b.value_);
    return of(std::move(whole)) + atom({.kind = DimAtom::Kind::Floor,
                                        .text = fmt::format("floor(({})/{})", remainder.text(), b.value_),
                                        .a = remainder,
                                        .b = b});
  }
  return atom({.kind = DimAtom::Kind::Floor,
               .text = fmt::format("floor(({})/({}))", a.text(), b.text()),
               .a = a,
               .b = b});
}

Dim Dim::ceil(const Dim& a, const Dim& b) { return Dim(0) - floor(Dim(0) - a, b); }
Dim Dim::mod(const Dim& a, const Dim& b) { return a - b * floor(a, b); }

// The atom, if the form is just that.
const DimAtom* Dim::as_atom() const {
  if (!form_ || form_->terms.size() != 1) return nullptr;
  const auto& [monomial, coefficient] = *form_->terms.begin();
  return coefficient == 1 && monomial.size() == 1 ? monomial[0].get() : nullptr;
}

// max and min of two forms, with absorption: max(a, min(a, b)) = a and max(a, max(a, b)) = max(a, b).
Dim Dim::extremum(bool is_max, const Dim& a, const Dim& b) {
  if (a == b) return a;
  if (const auto order = a.at_least(b)) return *order == is_max ? a : b;
  if (const auto order = b.at_least(a)) return *order == is_max ? b : a;
  const auto own = is_max ? DimAtom::Kind::Max : DimAtom::Kind::Min,
             other = is_max ? DimAtom::Kind::Min : DimAtom::Kind::Max;
  const auto holds = [](const Dim& whole, DimAtom::Kind kind, const Dim& part) {
    const DimAtom* atom = whole.as_atom();
    return atom != nullptr && atom->kind == kind && (atom->a == part || atom->b == part);
  };
  if (holds(b, other, a) || holds(a, own, b)) return a;
  if (holds(a, other, b) || holds(b, own, a)) return b;
  const auto& [x, y] = std::minmax(a, b, [](const Dim& p, const Dim& q) { return p.text() < q.text(); });
  return atom({.kind = own,
               .text = fmt::format("{}({}, {})", is_max ? "max" : "min", x.text(), y.text()),
               .a = x,
               .b = y});
}

Dim Dim::max(const Dim& a, const Dim& b) { return extremum(true, a, b); }
Dim Dim::min(const Dim& a, const Dim& b) { return extremum(false, a, b); }

namespace {

// Whether a form is >= 0, and whether it is <= 0, for all symbols >= 0: both in one walk, since forms are
// nested. (A quotient that is rounded up is minus the rounded-down quotient of a form that is <= 0.)
struct Bounds {
  bool up = false, down = false;
  Bounds times(const Bounds& b) const {
    return {(up && b.up) || (down && b.down), (up && b.down) || (down && b.up)};
  }
  static Bounds of(std::int64_t value) { return {value >= 0, value <= 0}; }
};

Bounds bounds_of(const Dim& dim);

Bounds bounds_of(DimAtom::Kind kind, const Dim& a, const Dim& b) {
  if (kind == DimAtom::Kind::Symbol) return {.up = true, .down = false};
  const Bounds x = bounds_of(a), y = bounds_of(b);
  switch (kind) {
    case DimAtom::Kind::Floor: return {.up = x.up && y.up, .down = x.down && y.up};
    case DimAtom::Kind::Max: return {.up = x.up || y.up, .down = x.down && y.down};
    case DimAtom::Kind::Min: return {.up = x.up && y.up, .down = x.down || y.down};
    case DimAtom::Kind::Symbol: break;
  }
  return {};
}

Bounds bounds_of(const Dim& dim) {
  if (const auto value = dim.value()) return Bounds::of(*value);
  Bounds out{.up = true, .down = true};
  for (const Dim::Summand& s : dim.summands()) {
    Bounds term = Bounds::of(s.coefficient);
    for (const Dim::Factor& f : s.factors) term = term.times(bounds_of(f.kind, f.a, f.b));
    out = {.up = out.up && term.up, .down = out.down && term.down};
  }
  return out;
}

}  // namespace

// In a form with more terms, only one quotient is replaced first, because the work doubles with each.
constexpr std::size_t kMostTermsToReorder = 4;

std::optional<bool> Dim::at_least(const Dim& other) const {
  if (!form_ && !other.form_) return value_ >= other.value_;
  const Dim difference = *this - other;
  if (difference.is_concrete()) return difference.value_ >= 0;
  bool all_up = true,
       all_down = true;  // coefficients of the nonconstant terms; the constant decides the rest
  std::int64_t constant = 0;
  for (const auto& [monomial, coefficient] : difference.form_->terms) {
    if (monomial.empty()) {
      constant = coefficient;
      continue;
    }
    Bounds term = Bounds::of(coefficient);
    for (const AtomRef& a : monomial) term = term.times(bounds_of(a->kind, a->a, a->b));
    all_up = all_up && term.up;
    all_down = all_down && term.down;
  }
  if (all_up && constant >= 0) return true;
  if (all_down && constant < 0) return false;
  // k·floor(a/b) is at least k·a/b if k < 0, at least k·(a - b + 1)/b else: one quotient less, times b. Which
  // one is replaced first matters: in n/2 - 14·floor((n/2)/14), rounded down, the outer one.
  for (const auto& [monomial, coefficient] : difference.form_->terms) {
    if (monomial.size() != 1 || monomial[0]->kind != DimAtom::Kind::Floor || !monomial[0]->b.is_concrete())
      continue;
    const Dim &a = monomial[0]->a, &b = monomial[0]->b, k(coefficient);
    if (b.value_ < 1) continue;
    Form rest = *difference.form_;
    rest.terms.erase(monomial);
    try {
      const Dim least = b * of(std::move(rest)) + k * (coefficient < 0 ? a : a - b + Dim(1));
      if (least.at_least(0) == true) return true;
    } catch (const DimOverflow&) {
      continue;
    }
    if (difference.form_->terms.size() > kMostTermsToReorder) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<bool> Dim::equals(const Dim& other) const {
  if (*this == other) return true;
  if (!form_ && !other.form_) return false;
  // Unequal if one side is bigger by at least one for all symbols.
  if ((*this - other - Dim(1)).at_least(0).value_or(false) ||
      (other - *this - Dim(1)).at_least(0).value_or(false))
    return false;
  return std::nullopt;
}

std::optional<std::int64_t> Dim::evaluate(const Assignment& assignment) const {
  const Dim bound = substitute([&](std::string_view name) {
    const auto value = assignment(name);
    return value ? Dim(*value) : symbol(name);
  });
  return bound.value();
}

Dim Dim::substitute(const Substitution& substitution) const {
  if (!form_) return *this;
  Dim total = 0;
  for (const auto& [monomial, coefficient] : form_->terms) {
    Dim term = coefficient;
    for (const AtomRef& a : monomial) {
      if (a->kind == DimAtom::Kind::Symbol) {
        term = term * substitution(a->name);
        continue;
      }
      const Dim x = a->a.substitute(substitution), y = a->b.substitute(substitution);
      switch (a->kind) {
        case DimAtom::Kind::Floor: term = term * (y.is(0) ? Dim(0) : floor(x, y)); break;
        case DimAtom::Kind::Max: term = term * max(x, y); break;
        case DimAtom::Kind::Min: term = term * min(x, y); break;
        case DimAtom::Kind::Symbol: break;
      }
    }
    total = total + term;
  }
  return total;
}

std::vector<std::string> Dim::symbols() const {
  std::set<std::string> names;
  (void)substitute([&](std::string_view name) {
    names.emplace(name);
    return symbol(name);
  });
  return {names.begin(), names.end()};
}

std::vector<Dim::Summand> Dim::summands() const {
  std::vector<Summand> out;
  for (const auto& [monomial, coefficient] : as_form().terms) {
    Summand summand{.coefficient = coefficient, .factors = {}};
    for (const AtomRef& atom : monomial)
      summand.factors.push_back({.kind = atom->kind, .symbol = atom->name, .a = atom->a, .b = atom->b});
    out.push_back(std::move(summand));
  }
  return out;
}

std::string Dim::text() const {
  if (!form_) return std::to_string(value_);
  std::string out;
  // The constant, first in the map, is written last.
  const auto append = [&](const Monomial& monomial, std::int64_t coefficient) {
    std::string factors;
    for (const AtomRef& a : monomial) factors += (factors.empty() ? "" : "*") + a->text;
    const bool negative = coefficient < 0;
    const std::string size = fmt::format("{}", negative ? 0 - static_cast<std::uint64_t>(coefficient)
                                                        : static_cast<std::uint64_t>(coefficient));
    out += out.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    if (factors.empty()) out += size;
    else out += size == "1" ? factors : size + "*" + factors;
  };
  for (const auto& [monomial, coefficient] : form_->terms)
    if (!monomial.empty()) append(monomial, coefficient);
  if (const auto constant = form_->terms.find(Monomial{}); constant != form_->terms.end())
    append({}, constant->second);
  return out;
}

Dim product(const Dims& dims) {
  Dim out = 1;
  for (const Dim& d : dims)
    if (d.is(0)) return 0;
  for (const Dim& d : dims) out = out * d;
  return out;
}

bool is_concrete(const Dims& dims) { return std::ranges::all_of(dims, &Dim::is_concrete); }

std::optional<Extents> concrete(const Dims& dims) {
  Extents out;
  for (const Dim& d : dims) {
    if (!d.is_concrete()) return std::nullopt;
    out.push_back(d.concrete());
  }
  return out;
}

Dims to_dims(const Extents& extents) { return {extents.begin(), extents.end()}; }

std::string text(const Dims& dims) {
  std::string out = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) out += (i ? ", " : "") + dims[i].text();
  return out + "]";
}

}  // namespace isomer
