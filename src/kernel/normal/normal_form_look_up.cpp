// Look-ups by computed indices: Gather is Σ_v [v = index(q)] · x(v). For an index that points inside, exactly
// one of these terms is present, so a look-up passes any function: it is the outermost operation in a normal
// form.
//
// A function is then evaluated for all v, not only for the selected one. So it must be defined for all of
// them, and so must x: log(x[i]) is not (log x)[i], which requires more.
#include <algorithm>

#include "base/check.h"
#include "kernel/normal/normal_form.h"

namespace isomer {

// Whether a value is defined for all inputs: nothing in it, also under functions, was made by a partial
// function that may fail, or is a tensor that may be undefined.
bool NormalForms::is_total(const Sum& sum) {
  if (!is_finite(sum)) return false;
  std::set<int> undefined, seen;
  for (const int id : std::set<int>(partial_.begin(), partial_.end()))
    for (const Piece& p : pieces_of(id))
      if (elements_[p.element].kind != Element::Kind::Number) undefined.insert(p.element);
  std::vector<int> open;
  for (const Term& t : sum)
    for (const SourceFactor& f : t.factors)
      if (source(f.source).numbers.empty())
        for (const Piece& p : pieces_of(f.source)) open.push_back(p.element);
  while (!open.empty()) {
    const int id = open.back();
    open.pop_back();
    if (undefined.contains(id)) return false;
    if (!seen.insert(id).second) continue;
    const Element& e = elements_[id];
    open.insert(open.end(), e.args.begin(), e.args.end());
    for (const auto& [group, weighted] : e.body.groups)
      open.insert(open.end(), group.elements.begin(), group.elements.end());
  }
  return true;
}

// [v = index(q)] as 0 or 1; of equal ones the same source.
std::optional<SourceFactor> NormalForms::hit(const Sum& condition, const Axis& v, ElementType type) {
  const Sum made = call(Fn::Where, type, {condition, Sum{Term{}}, Sum{}});
  if (made.size() != 1 || made[0].factors.size() != 1 || !made[0].bound.empty() || !made[0].where.empty() ||
      made[0].coefficient.number != 1 || !made[0].coefficient.symbols.empty())
    return std::nullopt;
  SourceFactor out = made[0].factors[0];
  for (std::size_t k = 0; k < out.at.size(); ++k)
    if (k == 0 ? !(out.at[0] == Index(v)) : out.at[k].mentions(v)) return std::nullopt;
  if (out.at.empty()) return std::nullopt;
  const auto& pieces = pieces_of(out.source);
  for (const int known : hits_) {
    const auto& others = pieces_of(known);
    if (source(known).extents == source(out.source).extents &&
        std::ranges::equal(pieces, others, [](const Piece& a, const Piece& b) {
          return a.element == b.element && a.to == b.to;
        })) {
      out.source = known;
      return out;
    }
  }
  hits_.insert(out.source);
  return out;
}

// Two hits of the same index, at v and at w.
bool NormalForms::is_same_hit(const SourceFactor& a, const SourceFactor& b) const {
  return a.source == b.source && hits_.contains(a.source) &&
         std::equal(a.at.begin() + 1, a.at.end(), b.at.begin() + 1);
}

// Whether a term is Σ_v [v = index(q)] · rest over all of v, where index(q) is one of the known ones, and not
// of a bound axis or of one of these.
bool NormalForms::is_hit(const SourceFactor& factor, const Term& term,
                         const std::vector<Axis>& apart_from) const {
  if (!hits_.contains(factor.source)) return false;
  const Dims& extents = source(factor.source).extents;
  const auto v = factor.at[0].as_axis();
  if (!v || std::ranges::find(term.bound, *v) == term.bound.end() || !(v->extent == extents[0])) return false;
  for (std::size_t k = 1; k < factor.at.size(); ++k) {
    const auto is_mentioned = [&](const Axis& a) { return factor.at[k].mentions(a); };
    if (!factor.at[k].is_inside(extents[k]) || std::ranges::any_of(term.bound, is_mentioned) ||
        std::ranges::any_of(apart_from, is_mentioned))
      return false;
  }
  return true;
}

// [v = i] · [w = i] is [v = i] · [v = w]; nullopt: zero.
std::optional<Term> NormalForms::with_each_hit_once(Term term) {
  if (hits_.empty()) return term;
  for (std::size_t i = 0; i < term.factors.size(); ++i) {
    for (std::size_t j = 0; j < term.factors.size(); ++j) {
      if (i == j || !is_same_hit(term.factors[i], term.factors[j])) continue;
      const Index v = term.factors[i].at[0];
      if (!(v == term.factors[j].at[0])) {
        const auto w = term.factors[j].at[0].as_axis();
        if (!w || std::ranges::find(term.bound, *w) == term.bound.end() || v.mentions(*w)) continue;
        auto put = fixed(std::move(term), *w, v);
        if (!put) return std::nullopt;
        term = std::move(*put);
      }
      term.factors.erase(term.factors.begin() + static_cast<std::ptrdiff_t>(j));
      used_laws_ = true;
      return with_each_hit_once(std::move(term));
    }
  }
  return term;
}

// Σ_v [v = index(q)] · of. A part that does not depend on v is there once.
Sum NormalForms::looked_up(const SourceFactor& hit, const Axis& v, const Sum& of) {
  used_laws_ = true;
  Sum out, chosen;
  for (const Term& t : of) {
    const auto axes = free_axes({t});
    (std::ranges::find(axes, v) == axes.end() ? out : chosen).push_back(t);
  }
  out = add(out, summed({v}, {}, multiply({{.factors = {hit}}}, chosen)));
  check_size(out);
  return out;
}

// f(Σ_v [v = index(q)] · x(v), b) is Σ_v [v = index(q)] · f(x(v), b); nullopt: no look-up is there that f
// does not reduce over (`apart_from`), or f may be undefined for some v.
std::optional<Sum> NormalForms::through_look_up(const std::vector<Sum>& args,
                                                const std::vector<Axis>& apart_from, const Function& f) {
  if (hits_.empty()) return std::nullopt;
  std::optional<SourceFactor> hit;
  for (const Sum& arg : args)
    for (const Term& t : arg)
      for (const SourceFactor& factor : t.factors)
        if (!hit && is_hit(factor, t, apart_from)) hit = factor;
  if (!hit || !std::ranges::all_of(args, [&](const Sum& a) { return is_finite(a); })) return std::nullopt;
  const Axis v = maker_.axis(source(hit->source).extents[0]);
  hit->at[0] = Index(v);
  std::vector<Sum> of;
  for (const Sum& arg : args) {
    Sum& each = of.emplace_back();
    for (const Term& t : arg) {
      const auto own = std::ranges::find_if(t.factors, [&](const SourceFactor& factor) {
        return is_same_hit(*hit, factor) && is_hit(factor, t, apart_from);
      });
      if (own == t.factors.end()) {
        each.push_back(t);
        continue;
      }
      Term rest = t;
      rest.factors.erase(rest.factors.begin() + (own - t.factors.begin()));
      if (auto put = fixed(std::move(rest), *own->at[0].as_axis(), Index(v))) each.push_back(std::move(*put));
    }
  }
  const std::size_t mark = partial_.size();
  const Sum out = f(of);
  if (partial_.size() != mark || !is_finite(out)) {
    partial_.resize(mark);
    return std::nullopt;
  }
  return looked_up(*hit, v, out);
}

}  // namespace isomer
