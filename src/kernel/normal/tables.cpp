// Tables: small constant tensors as factors whose every number is known, the part of NormalForms in which the
// matrices of a transform meet. Σ_f A[i, f] · B[f, k] is done in rational numbers before anything is
// expanded: what cancels there (Winograd's minimal filtering) is never a term.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "base/check.h"
#include "kernel/normal/normal_form.h"

namespace isomer {
namespace {

// F(4x4, 3x3) needs 16 · 36 · 9 entries with 36 products for each.
constexpr std::int64_t kMostEntries = 1 << 16, kMostProducts = 1 << 22;

// Row-major: the next coordinates; false: there are none.
bool advance(Extents& at, const Extents& extents) {
  for (std::size_t d = at.size(); d-- > 0;) {
    if (++at[d] < extents[d]) return true;
    at[d] = 0;
  }
  return false;
}

// One of the tables that are multiplied: for each of its axes the axis of the product, or the summed one.
struct Operand {
  const std::vector<Rational>* numbers;
  std::vector<std::int64_t> steps;  // of the linear position, per axis of the product
  std::int64_t summed = 0;          // the same of the axis that is summed over
  std::int64_t start = 0;
};

// An index of the position, and a value of it.
struct Pin {
  Index at;
  std::int64_t value;
};

// The digits of an index with a known value: s·a + b = v with 0 <= b < s means a = v / s and b = v mod s.
// false: it never has this value.
bool add_pins(const Index& at, std::int64_t value, std::vector<Pin>& out) {
  if (const auto range = at.range())
    if (Dim(value).at_least(range->low) == false || range->high.at_least(value) == false) return false;
  for (const Index::Term& t : at.terms()) {
    const Index rest = at - Index::of_term(t);
    if (!t.scale.is_concrete() || t.scale.concrete() < 2 || !rest.is_inside(t.scale) || value < 0) continue;
    const std::int64_t s = t.scale.concrete();
    return add_pins(Index::of_term({1, t.atom}), value / s, out) && add_pins(rest, value % s, out);
  }
  if (!at.is_constant()) out.push_back({at, value});
  return true;
}

// Where x mod d = r, k·d·floor(x / d) is k·(x - r).
Index with_pin(const Index& index, const Pin& pin) {
  if (pin.at.terms().size() != 1 || !(pin.at == Index::of_term({1, pin.at.terms()[0].atom}))) return index;
  const Index::Atom& mod = pin.at.terms()[0].atom;
  if (mod.kind != Index::AtomKind::Mod) return index;
  Index out(index.offset());
  for (const Index::Term& t : index.terms()) {
    const bool is_same =
        t.atom.kind != Index::AtomKind::Axis && *t.atom.inner == *mod.inner && t.atom.divisor == mod.divisor;
    const auto times = is_same ? Dim::exact_quotient(t.scale, mod.divisor) : std::nullopt;
    if (is_same && t.atom.kind == Index::AtomKind::Mod) out = out + Index(t.scale * Dim(pin.value));
    else if (times) out = out + *times * (*mod.inner - Index(pin.value));
    else out = out + Index::of_term(t);
  }
  return out;
}

// The term where its factor is read at this place: an axis that is summed over takes a value, other indices
// are pinned. nullopt: it never is.
std::optional<Term> at_place(const Term& term, std::size_t factor, const Extents& place,
                             std::vector<Pin>& pins) {
  std::optional<Term> out = term;
  for (std::size_t d = 0; out && d < place.size(); ++d) {
    const Index at = out->factors[factor].at[d];
    const auto axis =
        std::ranges::find_if(out->bound, [&](const Axis& a) { return !(at - Index(a)).mentions(a); });
    if (axis != out->bound.end()) {
      const Axis a = *axis;  // NOLINT(performance-unnecessary-copy-initialization): what it lies in is moved
      out = fixed(std::move(*out), a, Index(place[d]) - (at - Index(a)));
    } else if (std::ranges::any_of(out->bound, [&](const Axis& a) { return at.mentions(a); })) {
      if (!require(*out, equal_to(at, place[d]))) out = std::nullopt;
    } else if (!add_pins(at, place[d], pins)) {
      out = std::nullopt;
    }
  }
  return out;
}

std::optional<Term> with_pins(const Term& term, const std::vector<Pin>& pins) {
  Term out{.coefficient = term.coefficient, .bound = term.bound, .factors = term.factors};
  const auto moved = [&](Index i) {
    for (const Pin& p : pins) i = with_pin(i, p);
    return i;
  };
  for (SourceFactor& f : out.factors)
    for (Index& i : f.at) i = moved(i);
  for (const Index& c : term.where)
    if (!require(out, moved(c))) return std::nullopt;
  return out;
}

bool are_alike(Sum a, const Sum& b) {
  for (const Term& t : scaled(b, Coefficient{.number = -1})) a.push_back(t);
  merge_alike(a);
  return a.empty();
}

// Whether these are all values that the indices have together.
bool is_every_value(const std::vector<Index>& at, std::size_t values) {
  std::size_t all = 1;
  for (const Index& i : at) {
    const auto range = i.range();
    if (!range || !range->low.is_concrete() || !range->high.is_concrete()) return false;
    const std::int64_t count = range->high.concrete() - range->low.concrete() + 1;
    if (count > kMostEntries) return false;
    all *= static_cast<std::size_t>(count);
    if (all > values) return false;
  }
  return all == values;
}

Tensor first_element(const Tensor& tensor) {
  return {tensor.type(), {}, Bytes::copy_of(tensor.bytes().data, *byte_size(tensor.type(), {}))};
}

struct Table {
  Extents extents;
  const std::vector<Rational>* numbers;
};

// The value of a term where indices of its position have certain values.
struct Family {
  std::vector<Index> at;
  std::map<std::vector<std::int64_t>, Sum> sums;
};

class Expansion {
 public:
  using Lookup = std::function<std::optional<Table>(int source)>;
  Expansion(Lookup table_of, std::size_t most_terms)
      : table_of_(std::move(table_of)), most_terms_(most_terms) {}

  std::vector<Family> families(const Term& term) {
    families_.clear();
    expand(term, {});
    for (Family& f : families_)
      for (auto& [values, sum] : f.sums) merge_alike(sum);
    return std::move(families_);
  }

 private:
  // Table by table, entry by entry.
  void expand(const Term& term, const std::vector<Pin>& pins) {
    std::optional<Table> table;
    std::size_t factor = 0;
    for (; factor < term.factors.size() && !table; ++factor) table = table_of_(term.factors[factor].source);
    if (!table) {
      add(term, pins);
      return;
    }
    --factor;
    Extents place(table->extents.size(), 0);
    std::size_t linear = 0;
    do {
      const Rational& number = (*table->numbers)[linear++];
      if (number == 0) continue;
      std::vector<Pin> more = pins;
      auto entry = at_place(term, factor, place, more);
      if (!entry) continue;
      entry->factors.erase(entry->factors.begin() + static_cast<std::ptrdiff_t>(factor));
      entry->coefficient.number *= number;
      expand(*entry, more);
    } while (advance(place, table->extents));
  }

  void add(const Term& term, const std::vector<Pin>& pins) {
    auto entry = with_pins(term, pins);
    if (!entry) return;
    std::vector<Index> at;
    std::vector<std::int64_t> values;
    for (const Pin& p : pins) {
      at.push_back(p.at);
      values.push_back(p.value);
    }
    auto family = std::ranges::find(families_, at, &Family::at);
    if (family == families_.end()) family = families_.insert(family, {at, {}});
    Sum& sum = family->sums[values];
    sum.push_back(std::move(*entry));
    if (sum.size() < most_terms_) return;
    merge_alike(sum);
    if (sum.size() >= most_terms_) throw Undecided("a table of too many terms");
  }

  Lookup table_of_;
  std::size_t most_terms_;
  std::vector<Family> families_;
};

}  // namespace

int NormalForms::table(const Extents& extents, std::vector<Rational> numbers) {
  const auto [at, is_new] = tables_.try_emplace({extents, numbers}, 0);
  if (is_new)
    at->second = add_source({.extents = to_dims(extents),
                             .element = {},
                             .pieces = {},
                             .sign = {},
                             .reciprocal = {},
                             .numbers = std::move(numbers)});
  return at->second;
}

std::optional<Form> NormalForms::constant(const Tensor& value) {
  if (!options_.budget.by_value.takes(value)) return std::nullopt;
  const Tensor known = value.is_uniform() ? first_element(value) : value;
  const auto doubles = known.doubles();
  if (!doubles || !std::ranges::all_of(*doubles, [](double v) { return std::isfinite(v); }))
    return std::nullopt;
  std::vector<Rational> numbers;
  if (const auto integers = known.integers())
    for (const std::int64_t v : *integers) numbers.emplace_back(v);
  else
    for (const double v : *doubles) numbers.emplace_back(v);
  Form out{.type = value.type(), .axes = {}, .sum = {}};
  for (const std::int64_t e : value.extents()) out.axes.push_back(maker_.axis(e));
  if (std::ranges::all_of(numbers, [](const Rational& v) { return v == 0; })) return out;
  if (numbers.size() == 1) out.sum.push_back({.coefficient = {.number = numbers[0]}});
  else out.sum.push_back({.factors = {{table(value.extents(), std::move(numbers)), to_indices(out.axes)}}});
  return out;
}

std::optional<Term> NormalForms::contracted(Term term) {
  for (std::size_t b = 0; b < term.bound.size();) {
    const Axis axis = term.bound[b++];
    const Index summed(axis);
    const auto is_it = [&](const Index& i) { return i == summed; };
    const auto mentions = [&](const Index& i) { return i.mentions(axis); };
    if (!axis.extent.is_concrete() || std::ranges::any_of(term.where, mentions)) continue;
    // The factors that are summed over; each has to be a table, read at the axis itself.
    std::vector<SourceFactor> inside, outside;
    bool possible = true;
    for (const SourceFactor& f : term.factors) {
      if (std::ranges::none_of(f.at, mentions)) {
        outside.push_back(f);
        continue;
      }
      possible = possible && !source(f.source).numbers.empty();
      for (std::size_t d = 0; possible && d < f.at.size(); ++d)
        if (mentions(f.at[d]))
          possible = is_it(f.at[d]) && axis.extent.concrete() <= source(f.source).extents[d].concrete();
      inside.push_back(f);
    }
    if (!possible || inside.empty()) continue;
    // The other indices remain, each once. A read lies inside of its table (`read` ensures it), so of two
    // extents for one index the smaller counts.
    std::vector<Index> at;
    Extents extents;
    for (const SourceFactor& f : inside)
      for (std::size_t d = 0; d < f.at.size(); ++d) {
        if (is_it(f.at[d]) || f.at[d].is_constant()) continue;
        const std::int64_t extent = source(f.source).extents[d].concrete();
        const auto known = std::ranges::find(at, f.at[d]);
        if (known == at.end()) {
          at.push_back(f.at[d]);
          extents.push_back(extent);
        } else {
          auto& other = extents[static_cast<std::size_t>(known - at.begin())];
          other = std::min(other, extent);
        }
      }
    const auto count = element_count(extents);
    if (!count || *count > kMostEntries || *count * axis.extent.concrete() > kMostProducts) continue;
    std::vector<Operand> operands;
    for (const SourceFactor& f : inside) {
      const Source& s = source(f.source);
      Operand o{.numbers = &s.numbers, .steps = std::vector<std::int64_t>(at.size(), 0)};
      std::int64_t step = 1;
      for (std::size_t d = f.at.size(); d-- > 0; step *= s.extents[d].concrete()) {
        if (is_it(f.at[d])) {
          o.summed += step;
        } else if (f.at[d].is_constant()) {
          const auto place = f.at[d].offset().value();
          if (!place || *place < 0 || *place >= s.extents[d].concrete())
            throw Undecided("a table that is read outside");
          o.start += *place * step;
        } else {
          o.steps[static_cast<std::size_t>(std::ranges::find(at, f.at[d]) - at.begin())] += step;
        }
      }
      operands.push_back(std::move(o));
    }
    std::vector<Rational> numbers;
    numbers.reserve(static_cast<std::size_t>(*count));
    Extents place(at.size(), 0);
    bool any = false;
    do {
      Rational entry = 0;
      for (std::int64_t v = 0; v < axis.extent.concrete(); ++v) {
        Rational product = 1;
        for (const Operand& o : operands) {
          std::int64_t linear = o.start + v * o.summed;
          for (std::size_t d = 0; d < at.size(); ++d) linear += place[d] * o.steps[d];
          product *= (*o.numbers)[static_cast<std::size_t>(linear)];
          if (product == 0) break;
        }
        entry += product;
      }
      any = any || entry != 0;
      numbers.push_back(std::move(entry));
    } while (advance(place, extents));
    if (!any) return std::nullopt;
    if (at.empty()) term.coefficient.number *= numbers[0];
    else outside.push_back({table(extents, std::move(numbers)), at});
    term.factors = std::move(outside);
    std::erase(term.bound, axis);
    b = 0;
  }
  return term;
}

Sum NormalForms::expanded(const Sum& sum) {
  if (tables_.empty()) return sum;
  Expansion expansion(
      [&](int id) -> std::optional<Table> {
        if (source(id).numbers.empty()) return std::nullopt;
        return Table{*concrete(source(id).extents), &source(id).numbers};
      },
      options_.budget.terms);
  Sum out;
  for (const Term& t : sum) {
    for (const Family& f : expansion.families(t)) {
      // The same for every value: no condition is left of them.
      const Sum& first = f.sums.begin()->second;
      const bool is_one =
          is_every_value(f.at, f.sums.size()) &&
          std::ranges::all_of(f.sums, [&](const auto& s) { return are_alike(s.second, first); });
      for (const auto& [values, part] : f.sums) {
        for (Term term : part) {
          bool alive = true;
          for (std::size_t k = 0; !is_one && alive && k < values.size(); ++k)
            alive = require(term, equal_to(f.at[k], values[k]));
          if (alive) out.push_back(std::move(term));
        }
        if (is_one) break;
      }
      check_size(out);
    }
  }
  merge_alike(out);
  return out;
}

}  // namespace isomer
