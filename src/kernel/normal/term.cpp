#include "kernel/normal/term.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/check.h"

namespace isomer {

Coefficient Coefficient::inverse() const {
  ISOMER_CHECK(number != 0);
  Coefficient out{.number = 1 / number};
  for (const auto& [symbol, power] : symbols) out.symbols[symbol] = -power;
  return out;
}

void multiply(Powers& powers, const Powers& by) {
  for (const auto& [symbol, power] : by) {
    powers[symbol] += power;
    if (powers[symbol] == 0) powers.erase(symbol);
  }
}

Coefficient operator*(const Coefficient& a, const Coefficient& b) {
  Coefficient out{.number = a.number * b.number, .symbols = a.symbols};
  multiply(out.symbols, b.symbols);
  return out;
}

std::optional<Coefficient> as_coefficient(const Dim& dim) {
  if (dim.is_concrete()) return Coefficient{.number = Rational(dim.concrete())};
  const auto summands = dim.summands();
  if (summands.size() != 1) return std::nullopt;
  Coefficient out{.number = Rational(summands[0].coefficient)};
  for (const Dim::Factor& f : summands[0].factors) {
    if (f.kind != Dim::Factor::Kind::Symbol) return std::nullopt;
    ++out.symbols[f.symbol];
  }
  return out;
}

bool require(Term& term, const Index& at_least_zero) {
  if (const auto range = at_least_zero.range()) {
    if (range->low.at_least(0) == true) return true;
    if (range->high.at_least(0) == false && range->high.is_concrete()) return false;
  }
  // Against what is required already: the opposite up to a constant, or the same.
  for (const Index& known : term.where) {
    if (known.terms().size() != at_least_zero.terms().size()) continue;
    const Index room = at_least_zero + known;
    if (room.is_constant() && room.offset().is_concrete() && room.offset().concrete() < 0) return false;
  }
  for (Index& known : term.where) {
    if (known.terms().size() != at_least_zero.terms().size()) continue;
    const Index gap = at_least_zero - known;
    if (!gap.is_constant() || !gap.offset().is_concrete()) continue;
    if (gap.offset().concrete() < 0) known = at_least_zero;  // the stronger one counts
    return true;
  }
  term.where.push_back(at_least_zero);
  return true;
}

bool require(Term& term, const Domain& conditions) {
  return std::ranges::all_of(conditions, [&](const Index& c) { return require(term, c); });
}

namespace {

std::optional<Term> mapped(const Term& term, std::vector<Axis> bound, const AxisMap& by) {
  Term out{.coefficient = term.coefficient, .bound = std::move(bound)};
  for (const Index& c : term.where)
    if (!require(out, c.substitute(by))) return std::nullopt;
  for (const SourceFactor& f : term.factors) {
    SourceFactor moved{.source = f.source, .at = {}};
    for (const Index& i : f.at) moved.at.push_back(i.substitute(by).recombine());
    out.factors.push_back(std::move(moved));
  }
  return out;
}

}  // namespace

std::optional<Term> substitute(const Term& term, const AxisMap& by, AxisMaker& maker) {
  std::vector<Axis> renamed;
  for (const Axis& a : term.bound) renamed.push_back(maker.axis(a.extent));
  return mapped(term, renamed, [&](const Axis& axis) {
    const auto at = std::ranges::find(term.bound, axis);
    return at == term.bound.end() ? by(axis)
                                  : Index(renamed[static_cast<std::size_t>(at - term.bound.begin())]);
  });
}

std::optional<Term> fixed(Term term, const Axis& bound, const Index& value) {
  if (!value.is_inside(bound.extent) && !require(term, between(0, value, bound.extent))) return std::nullopt;
  std::vector<Axis> rest = term.bound;
  std::erase(rest, bound);
  return mapped(term, rest, [&](const Axis& axis) { return axis == bound ? value : Index(axis); });
}

std::optional<Term> without_fixed_axes(Term term) {
  for (std::size_t i = 0; i < term.where.size(); ++i) {
    for (const Axis& a : term.bound) {
      const Index rest = term.where[i] - Index(a);
      if (rest.mentions(a)) continue;  // a - v >= 0 with v = -rest
      const Index minus = Dim(-1) * term.where[i];
      if (std::ranges::find(term.where, minus) == term.where.end()) continue;
      Term less = term;
      std::erase(less.where, term.where[i]);
      std::erase(less.where, minus);
      auto put = fixed(std::move(less), a, Dim(-1) * rest);
      if (!put) return std::nullopt;
      return without_fixed_axes(std::move(*put));
    }
  }
  return term;
}

std::optional<Term> product(const Term& a, const Term& b, AxisMaker& maker) {
  auto out = substitute(a, [](const Axis& axis) { return Index(axis); }, maker);
  const auto other = substitute(b, [](const Axis& axis) { return Index(axis); }, maker);
  if (!out || !other) return std::nullopt;
  out->coefficient = a.coefficient * b.coefficient;
  out->bound.insert(out->bound.end(), other->bound.begin(), other->bound.end());
  if (!require(*out, other->where)) return std::nullopt;
  out->factors.insert(out->factors.end(), other->factors.begin(), other->factors.end());
  return out;
}

Sum scaled(Sum sum, const Coefficient& by) {
  for (Term& t : sum) t.coefficient = t.coefficient * by;
  return sum;
}

namespace {

// As Index::text, but no symbol, whatever its name, can be taken for an axis.
std::string spell(const Index& index) {
  std::string out = index.offset().text();
  for (const Index::Term& t : index.terms()) {
    out += '+' + t.scale.text();
    if (t.atom.kind == Index::AtomKind::Axis) out += '@' + std::to_string(t.atom.axis.id);
    else
      out += (t.atom.kind == Index::AtomKind::Floor ? '/' : '%') + t.atom.divisor.text() + '(' +
             spell(*t.atom.inner) + ')';
  }
  return out;
}

// How a term is written, its bound axes numbered by first appearance; the number of its coefficient left out.
std::string spelling(Term& term) {
  std::ranges::stable_sort(term.factors, {}, &SourceFactor::source);
  std::vector<Axis> seen;
  const auto look = [&](const Index& index) {
    for (const Axis& a : index.axes())
      if (std::ranges::find(term.bound, a) != term.bound.end() && std::ranges::find(seen, a) == seen.end())
        seen.push_back(a);
  };
  for (const SourceFactor& f : term.factors) std::ranges::for_each(f.at, look);
  std::ranges::for_each(term.where, look);
  const AxisMap numbered = [&](const Axis& a) {
    const auto at = std::ranges::find(seen, a);
    return at == seen.end() ? Index(a) : Index(Axis{-1 - static_cast<int>(at - seen.begin()), a.extent});
  };
  std::string out;
  for (const auto& [symbol, power] : term.coefficient.symbols)
    out += fmt::format("{}^{} ", Dim::symbol(symbol).text(), power);
  for (const SourceFactor& f : term.factors) {
    out += fmt::format("s{}[", f.source);
    for (const Index& i : f.at) out += spell(i.substitute(numbered)) + ",";
    out += "]";
  }
  std::vector<std::string> conditions;
  for (const Index& c : term.where) conditions.push_back(spell(c.substitute(numbered)));
  std::ranges::sort(conditions);
  for (const std::string& c : conditions) out += "|" + c;
  for (const Axis& a : seen) out += ";" + a.extent.text();
  // Bound axes that nothing mentions only count.
  std::vector<std::string> unseen;
  for (const Axis& a : term.bound)
    if (std::ranges::find(seen, a) == seen.end()) unseen.push_back(a.extent.text());
  std::ranges::sort(unseen);
  for (const std::string& u : unseen) out += "#" + u;
  return out;
}

}  // namespace

Rational leading(const Sum& sum) {
  Rational largest = 0, total = 0;
  int signs = 0;
  for (const Term& t : sum) {
    const Rational& k = t.coefficient.number;
    largest = std::max(largest, Rational(abs(k)));
    total += k;
    signs += sgn(k);
  }
  return signs < 0 || (signs == 0 && total < 0) ? Rational(-largest) : largest;
}

void merge_alike(Sum& sum) {
  if (sum.size() < 2) return;
  std::unordered_map<std::string, std::size_t> places;
  Sum out;
  for (Term& t : sum) {
    const auto [at, is_new] = places.try_emplace(spelling(t), out.size());
    if (is_new) out.push_back(std::move(t));
    else out[at->second].coefficient.number += t.coefficient.number;
  }
  std::erase_if(out, [](const Term& t) { return t.coefficient.number == 0; });
  sum = std::move(out);
}

std::vector<Domain> complement(const Domain& conditions) {
  std::vector<Domain> out;
  Domain held;
  for (const Index& c : conditions) {
    Domain part = held;
    part.push_back(Index(-1) - c);
    out.push_back(std::move(part));
    held.push_back(c);
  }
  return out;
}

std::vector<Axis> free_axes(const Sum& sum) {
  std::vector<Axis> out;
  for (const Term& t : sum) {
    const auto look = [&](const Index& index) {
      for (const Axis& a : index.axes())
        if (std::ranges::find(t.bound, a) == t.bound.end() && std::ranges::find(out, a) == out.end())
          out.push_back(a);
    };
    for (const SourceFactor& f : t.factors) std::ranges::for_each(f.at, look);
    std::ranges::for_each(t.where, look);
  }
  return out;
}

namespace {

// The first floor or mod by a symbol inside of an index.
const Index::Atom* symbolic_division(const Index& index) {
  for (const Index::Term& t : index.terms()) {
    if (t.atom.kind == Index::AtomKind::Axis) continue;
    if (const auto* inner = symbolic_division(*t.atom.inner)) return inner;
    if (!t.atom.divisor.is_concrete()) return &t.atom;
  }
  return nullptr;
}

const Index::Atom* symbolic_division(const Term& term) {
  for (const SourceFactor& f : term.factors)
    for (const Index& i : f.at)
      if (const auto* atom = symbolic_division(i)) return atom;
  for (const Index& c : term.where)
    if (const auto* atom = symbolic_division(c)) return atom;
  return nullptr;
}

// The index with every floor(x / d) and x mod d of this x and d put as q and x - d·q.
Index with_quotient(const Index& index, const Index& x, const Dim& d, const Index& q) {
  Index out(index.offset());
  for (const Index::Term& t : index.terms()) {
    if (t.atom.kind == Index::AtomKind::Axis) {
      out = out + Index::of_term(t);
      continue;
    }
    const bool is_it = *t.atom.inner == x && t.atom.divisor == d;
    const bool is_floor = t.atom.kind == Index::AtomKind::Floor;
    if (is_it) {
      out = out + t.scale * (is_floor ? q : x - d * q);
      continue;
    }
    const Index inner = with_quotient(*t.atom.inner, x, d, q);
    out =
        out + t.scale * (is_floor ? Index::floor(inner, t.atom.divisor) : Index::mod(inner, t.atom.divisor));
  }
  return out;
}

}  // namespace

Sum without_symbolic_floors(const Sum& sum, std::int64_t most_values) {
  Sum out, open = sum;
  while (!open.empty()) {
    Term term = std::move(open.back());
    open.pop_back();
    const Index::Atom* atom = symbolic_division(term);
    const auto range = atom ? atom->inner->range() : std::nullopt;
    std::optional<std::int64_t> low, high;
    if (range) {
      low = Dim::floor(range->low, atom->divisor).value();
      // For the exclusive end: (k·d - 1) / d lies below k.
      if (const auto end = Dim::exact_quotient(range->high + 1, atom->divisor); end && end->is_concrete())
        high = end->concrete() - 1;
      else high = Dim::floor(range->high, atom->divisor).value();
    }
    if (!low || !high || *high - *low >= most_values) {
      out.push_back(std::move(term));  // stays as it is; building a set of it will be left undecided
      continue;
    }
    const Index x = *atom->inner;
    const Dim d = atom->divisor;
    for (std::int64_t q = *low; q <= *high; ++q) {
      Term part{.coefficient = term.coefficient, .bound = term.bound};
      bool alive = require(part, x - Index(d * Dim(q))) && require(part, Index(d * Dim(q + 1) - 1) - x);
      for (const Index& c : term.where) alive = alive && require(part, with_quotient(c, x, d, q));
      if (!alive) continue;
      for (const SourceFactor& f : term.factors) {
        SourceFactor moved{.source = f.source, .at = {}};
        for (const Index& i : f.at) moved.at.push_back(with_quotient(i, x, d, q));
        part.factors.push_back(std::move(moved));
      }
      open.push_back(std::move(part));
    }
  }
  return out;
}

}  // namespace isomer
