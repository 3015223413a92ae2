// From terms to weighted sets: the part of NormalForms that decides sums over bound axes.
#include <algorithm>

#include "base/check.h"
#include "kernel/normal/normal_form.h"

namespace isomer {
namespace {

// Whether each bound axis is a function of the position and the coordinates, seen from how they are written.
bool is_determined(const Term& term) {
  std::vector<Axis> open = term.bound;
  bool progress = true;
  while (!open.empty() && progress) {
    progress = false;
    for (const SourceFactor& f : term.factors) {
      for (const Index& i : f.at) {
        std::optional<Axis> only;
        bool clear = true;
        for (const Index::Term& t : i.terms()) {
          const Index single = Index::of_term(t);
          for (const Axis& a : open) {
            if (!single.mentions(a)) continue;
            if (only || t.atom.kind != Index::AtomKind::Axis || !t.scale.is_concrete()) clear = false;
            only = a;
          }
        }
        if (!clear || !only) continue;
        std::erase(open, *only);
        progress = true;
      }
    }
  }
  return open.empty();
}

}  // namespace

Polynomial NormalForms::polynomial(const Sum& sum, const std::vector<Axis>& position) {
  Sum terms = without_symbolic_floors(expanded(sum), options_.budget.unrolled);
  merge_alike(terms);
  check_size(terms);
  Polynomial out;
  for (const Term& t : terms) add_term(out, t, position);
  return reduced(out);
}

void NormalForms::add_term(Polynomial& out, const Term& term, const std::vector<Axis>& position) {
  const int in = static_cast<int>(position.size()), hidden = static_cast<int>(term.bound.size());
  int coordinates = 0;
  for (const SourceFactor& f : term.factors) coordinates += static_cast<int>(f.at.size());
  if (in + hidden + coordinates > options_.budget.dimensions) throw Undecided("a set of too many dimensions");
  RelationBuilder builder(space_, in, coordinates, hidden);
  for (int i = 0; i < in; ++i) {
    builder.name_axis(position[static_cast<std::size_t>(i)], i);
    builder.inside(i, position[static_cast<std::size_t>(i)].extent);
  }
  for (int i = 0; i < hidden; ++i) {
    const Axis& a = term.bound[static_cast<std::size_t>(i)];
    builder.name_axis(a, in + coordinates + i);
    builder.inside(in + coordinates + i, a.extent);
  }
  builder.hold(term.where);
  int dim = in;
  bool whole = true;
  for (const SourceFactor& f : term.factors) {
    for (const Index& i : f.at) builder.equal(dim++, i);
    whole = whole && source(f.source).element.has_value();
  }
  const bool settled = term.bound.empty() || (whole && is_determined(term));
  const Relation at = settled ? builder.finish() : builder.finish_with_hidden_in();
  std::vector<Dim> bound;
  if (!settled)
    for (const Axis& a : term.bound) bound.push_back(a.extent);
  for (Summand& s : expand_pieces(term, at)) settle_bound(out, std::move(s), in, bound);
}

std::vector<NormalForms::Summand> NormalForms::expand_pieces(const Term& term, Relation at) {
  std::vector<Summand> out;
  if (at.is_empty()) return out;
  out.push_back({term.coefficient.number, term.coefficient.symbols, {}, std::move(at)});
  int rest = out[0].at.out();
  for (const SourceFactor& f : term.factors) {
    const int rank = static_cast<int>(f.at.size());
    rest -= rank;
    if (const auto element = source(f.source).element) {
      for (Summand& s : out) s.elements.push_back(*element);
      continue;
    }
    std::vector<Summand> next;
    for (const Summand& s : out) {
      const int before = s.at.out() - rank - rest;
      for (const Piece& p : pieces_of(f.source)) {
        const Relation moved = s.at.then(identity(space_, before).cross(p.to).cross(identity(space_, rest)));
        if (moved.is_empty()) continue;
        Summand part{s.weight, s.symbols, s.elements, moved};
        if (elements_[p.element].kind == Element::Kind::Number) part.weight *= elements_[p.element].number;
        else part.elements.push_back(p.element);
        if (part.weight != 0) next.push_back(std::move(part));
      }
    }
    out = std::move(next);
    if (out.size() > options_.budget.terms) throw Undecided("a product of values of too many pieces");
  }
  return out;
}

void NormalForms::settle_bound(Polynomial& out, Summand s, int position, std::vector<Dim> bound) {
  if (bound.empty() || s.at.ins_from_rest(position).is_function()) {
    if (!bound.empty()) s.at = s.at.ins(position);
    add_symmetric(out, s);
    return;
  }
  // An axis that nothing depends on counts.
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const int dim = position + static_cast<int>(i);
    const auto extent = as_coefficient(bound[i]);
    if (!extent) continue;
    RelationBuilder inside(space_, s.at.in(), 0, 0);
    inside.inside(dim, bound[i]);
    const Relation less = s.at.without_in(dim);
    const Relation widened = less.with_in(dim).on(inside.finish().domain());
    if (!(widened == s.at)) continue;
    s.at = less;
    s.weight *= extent->number;
    isomer::multiply(s.symbols, extent->symbols);
    bound.erase(bound.begin() + static_cast<std::ptrdiff_t>(i));
    settle_bound(out, std::move(s), position, std::move(bound));
    return;
  }
  // The smallest axis is unrolled.
  std::optional<std::size_t> smallest;
  for (std::size_t i = 0; i < bound.size(); ++i)
    if (bound[i].is_concrete() && bound[i].concrete() <= options_.budget.unrolled &&
        (!smallest || bound[i].concrete() < bound[*smallest].concrete()))
      smallest = i;
  if (!smallest) throw Undecided("a sum whose summands no factor distinguishes");
  const std::int64_t extent = bound[*smallest].concrete();
  bound.erase(bound.begin() + static_cast<std::ptrdiff_t>(*smallest));
  for (std::int64_t v = 0; v < extent; ++v) {
    Summand part = s;
    part.at = s.at.fixed_in(position + static_cast<int>(*smallest), v);
    if (!part.at.is_empty()) settle_bound(out, std::move(part), position, bound);
  }
}

// Equal factors may change places: the weight is shared among all orders of their coordinates, so that equal
// products have equal weights.
void NormalForms::add_symmetric(Polynomial& out, const Summand& s) {
  const std::size_t n = s.elements.size();
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return s.elements[i]; });
  Group group{.elements = {}, .symbols = s.symbols};
  std::vector<int> first(n, 0);
  for (std::size_t i = 1; i < n; ++i) first[i] = first[i - 1] + elements_[s.elements[i - 1]].rank;
  for (const std::size_t i : order) group.elements.push_back(s.elements[i]);
  std::vector<std::vector<std::size_t>> orders{order};
  for (std::size_t begin = 0; begin < n;) {
    std::size_t end = begin;
    while (end < n && group.elements[end] == group.elements[begin]) ++end;
    if (static_cast<int>(end - begin) > options_.budget.equal_factors)
      throw Undecided("a product of too many equal factors");
    if (end - begin > 1 && elements_[group.elements[begin]].rank > 0) {
      std::vector<std::vector<std::size_t>> more;
      for (std::vector<std::size_t> o : orders) {
        const auto from = o.begin() + static_cast<std::ptrdiff_t>(begin);
        const auto to = o.begin() + static_cast<std::ptrdiff_t>(end);
        std::sort(from, to);
        do more.push_back(o);
        while (std::next_permutation(from, to));
      }
      orders = std::move(more);
    }
    begin = end;
  }
  for (const std::vector<std::size_t>& o : orders) {
    std::vector<int> dims;
    for (const std::size_t i : o)
      for (int k = 0; k < elements_[s.elements[i]].rank; ++k) dims.push_back(first[i] + k);
    const bool is_same = std::ranges::is_sorted(dims);
    out.groups[group].push_back(
        {s.weight / Rational(static_cast<long>(orders.size())), is_same ? s.at : s.at.permute(dims)});
  }
}

}  // namespace isomer
