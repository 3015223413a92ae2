#include "optimizer/facts/linear_form.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <utility>

namespace isomer {
namespace {

constexpr std::size_t kMostTerms = 12, kMostFactors = 10;
constexpr int kMostSplits = 16;

// Replaces every index of a term.
template <class Change>
void change_indices(LinearTerm& term, const Change& change) {
  for (LinearFactor& f : term.factors)
    for (Index& i : f.at) i = change(i);
  for (Index& i : term.domain) i = change(i);
}

// A formula's expression multiplied out.
class Multiplied {
 public:
  Multiplied(const Formula& formula, const Node& node, int& next_axis)
      : formula_(formula), node_(node), next_axis_(next_axis) {}

  using Terms = std::optional<std::vector<LinearTerm>>;

  Terms stage(const Stage& stage, const std::vector<Index>& at) {
    const auto outer = by_axis_;
    for (std::size_t k = 0; k < stage.axes.size(); ++k) by_axis_[stage.axes[k].id] = at[k];
    Terms out = of(*stage.value);
    by_axis_ = outer;
    return out;
  }

 private:
  Index placed(const Index& index) const {
    return index.substitute([&](const Axis& a) {
      const auto at = by_axis_.find(a.id);
      return at == by_axis_.end() ? Index(a) : at->second;
    });
  }
  Domain placed(const Domain& domain) const {
    Domain out;
    for (const Index& i : domain) out.push_back(placed(i));
    return out;
  }

  Terms of(const ExprNode& e) {
    switch (e.kind) {
      case ExprNode::Kind::Number:
        return e.number == 0 ? std::vector<LinearTerm>{} : std::vector<LinearTerm>{{.scale = e.number}};
      case ExprNode::Kind::Read: return of_read(e);
      case ExprNode::Kind::Apply: return of_apply(e);
      case ExprNode::Kind::Reduce: return of_sum(e);
      case ExprNode::Kind::Cases: return of_cases(e);
      case ExprNode::Kind::IndexNumber: break;
    }
    return std::nullopt;
  }

  Terms of_read(const ExprNode& e) {
    std::vector<Index> at;
    Domain inside;
    for (std::size_t k = 0; k < e.at.size(); ++k) {
      at.push_back(placed(e.at[k]));
      if (!at.back().is_inside(e.extents[k]))
        inside = both(inside, between(Index(0), at.back(), e.extents[k]));
    }
    Terms out;
    if (e.tensor.kind == TensorRef::Kind::Stage) {
      out = stage(formula_.stages[static_cast<std::size_t>(e.tensor.number)], at);
    } else {
      const Value v = node_.inputs[static_cast<std::size_t>(e.tensor.number)];
      out = std::vector<LinearTerm>{{.scale = 1, .summed = {}, .factors = {{v, at}}, .domain = {}}};
    }
    if (out)
      for (LinearTerm& t : *out) t.domain = both(t.domain, inside);
    return out;
  }

  Terms of_apply(const ExprNode& e) {
    if (!is_float(e.type)) return std::nullopt;
    if (e.fn == Fn::Cast && e.args[0]->type == e.type) return of(*e.args[0]);
    if (e.fn != Fn::Add && e.fn != Fn::Sub && e.fn != Fn::Neg && e.fn != Fn::Mul && e.fn != Fn::Div)
      return std::nullopt;
    Terms a = of(*e.args[0]);
    if (!a) return std::nullopt;
    if (e.fn == Fn::Neg) return scaled(std::move(*a), -1);
    Terms b = of(*e.args[1]);
    if (!b) return std::nullopt;
    if (e.fn == Fn::Mul) return product(*a, *b);
    if (e.fn == Fn::Div) return quotient(*a, *b);
    if (e.fn == Fn::Sub) b = scaled(std::move(*b), -1);
    a->insert(a->end(), b->begin(), b->end());
    return a->size() <= kMostTerms ? a : std::nullopt;
  }

  static std::vector<LinearTerm> scaled(std::vector<LinearTerm> terms, double by) {
    for (LinearTerm& t : terms) t.scale *= by;
    return terms;
  }

  static Terms product(const std::vector<LinearTerm>& a, const std::vector<LinearTerm>& b) {
    if (a.size() * b.size() > kMostTerms) return std::nullopt;
    std::vector<LinearTerm> out;
    for (const LinearTerm& x : a)
      for (const LinearTerm& y : b) {
        LinearTerm t = x;
        t.scale *= y.scale;
        t.summed.insert(t.summed.end(), y.summed.begin(), y.summed.end());
        t.factors.insert(t.factors.end(), y.factors.begin(), y.factors.end());
        t.domain = both(t.domain, y.domain);
        if (t.factors.size() > kMostFactors) return std::nullopt;
        out.push_back(std::move(t));
      }
    return out;
  }

  // By one product.
  static Terms quotient(const std::vector<LinearTerm>& a, const std::vector<LinearTerm>& b) {
    if (b.size() != 1 || !b[0].summed.empty() || !b[0].domain.empty() || b[0].scale == 0) return std::nullopt;
    LinearTerm inverse = b[0];
    inverse.scale = 1 / inverse.scale;
    for (LinearFactor& f : inverse.factors) f.is_inverse = !f.is_inverse;
    return product(a, {inverse});
  }

  Terms of_sum(const ExprNode& e) {
    if (e.reduction != Reduction::Sum) return std::nullopt;
    const auto outer = by_axis_;
    std::vector<Axis> fresh;
    for (const Axis& a : e.axes) {
      fresh.push_back({next_axis_++, a.extent});
      by_axis_[a.id] = Index(fresh.back());
    }
    const Domain domain = placed(e.domain);
    Terms out = of(*e.args[0]);
    by_axis_ = outer;
    if (!out) return std::nullopt;
    for (LinearTerm& t : *out) {
      t.summed.insert(t.summed.end(), fresh.begin(), fresh.end());
      t.domain = both(t.domain, domain);
    }
    // Terms must not share summed indices.
    for (std::size_t k = 1; k < out->size(); ++k) rename_summed((*out)[k]);
    return out;
  }

  void rename_summed(LinearTerm& term) {
    std::map<int, Index> by;
    for (Axis& a : term.summed) {
      const Axis fresh{next_axis_++, a.extent};
      by[a.id] = Index(fresh);
      a = fresh;
    }
    change_indices(term, [&](const Index& i) {
      return i.substitute([&](const Axis& a) { return by.contains(a.id) ? by.at(a.id) : Index(a); });
    });
  }

  // Intervals of one index, one after the other, and what is left behind the last.
  Terms of_cases(const ExprNode& e) {
    std::vector<LinearTerm> out;
    Domain rest;
    std::optional<Index> end;  // the interval that follows begins here
    for (const ExprNode::Case& c : e.cases) {
      if (c.when.size() != 2) return std::nullopt;
      const Domain when = placed(c.when);
      // low <= a < high: a - low >= 0, high - 1 - a >= 0.
      if (end && !(when[0] == *end)) return std::nullopt;
      if (!end && !is_never_negative(when[0])) return std::nullopt;
      end = Index(-1) - when[1];
      Terms part = of(*c.value);
      if (!part) return std::nullopt;
      for (LinearTerm& t : *part) {
        t.domain = both(t.domain, when);
        out.push_back(std::move(t));
      }
      rest = {*end};
    }
    Terms last = of(*e.args[0]);
    if (!last) return std::nullopt;
    for (LinearTerm& t : *last) {
      t.domain = both(t.domain, rest);
      out.push_back(std::move(t));
    }
    return out.size() <= kMostTerms ? Terms(std::move(out)) : std::nullopt;
  }

  static bool is_never_negative(const Index& i) {
    const auto range = i.range();
    return range && range->low.at_least(0) == true;
  }

  const Formula& formula_;
  const Node& node_;
  int& next_axis_;
  std::map<int, Index> by_axis_;
};

// ---- settling: no conditions, no floor and mod, no axes of one element

std::optional<std::int64_t> known(const Dim& d) { return d.value(); }

class Settled {
 public:
  explicit Settled(LinearForm form) : form_(std::move(form)) {}

  std::optional<LinearForm> form() {
    for (int round = 0; round < kMostSplits; ++round) {
      for (auto& parts : form_.axes)
        for (const Axis& a : parts)
          if (a.extent.is(1)) replace_everywhere(a, Index(0));
      for (LinearTerm& t : form_.terms)
        if (!settle_summed(t)) return std::nullopt;
      std::erase_if(form_.terms, [](const LinearTerm& t) { return t.scale == 0; });
      const auto split = wanted_split();
      if (!split) return is_settled() ? std::optional(form_) : std::nullopt;
      if (!apply(*split)) return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  struct Split {
    Axis axis;
    Dim by;
  };

  static Index replaced(const Index& i, const Axis& axis, const Index& by) {
    return i.substitute([&](const Axis& a) { return a == axis ? by : Index(a); });
  }
  static void replace(LinearTerm& t, const Axis& axis, const Index& by) {
    change_indices(t, [&](const Index& i) { return replaced(i, axis, by); });
  }
  void replace_everywhere(const Axis& axis, const Index& by) {
    for (LinearTerm& t : form_.terms) replace(t, axis, by);
  }

  // Conditions on one summed index become its range; what nothing mentions becomes a factor.
  bool settle_summed(LinearTerm& t) {
    std::vector<Axis> kept;
    for (const Axis& a : t.summed) {
      if (a.extent.is(1)) replace(t, a, Index(0));
      else kept.push_back(a);
    }
    t.summed = kept;
    for (std::size_t k = 0; k < t.domain.size(); ++k) {
      const Index condition = t.domain[k];
      const auto range = condition.range();
      if (range && range->low.at_least(0) == true) continue;
      if (range && range->high.at_least(0) == false) {
        t.scale = 0;  // never
        return true;
      }
      if (!narrow(t, condition)) return false;
      --k;  // the domain has changed: this one is true now
      if (++narrowed_ > 64) return false;
    }
    t.domain.clear();
    for (Axis& a : t.summed) {
      const auto mentions = [&](const LinearFactor& f) {
        return std::ranges::any_of(f.at, [&](const Index& i) { return i.mentions(a); });
      };
      if (std::ranges::any_of(t.factors, mentions)) continue;
      const auto extent = known(a.extent);
      if (!extent) return false;
      t.scale *= static_cast<double>(*extent);
      a.id = -1;
    }
    std::erase_if(t.summed, [](const Axis& a) { return a.id < 0; });
    return true;
  }

  // ±a + c >= 0 for a summed index a of known extent.
  bool narrow(LinearTerm& t, const Index& condition) {
    if (condition.terms().size() != 1) return false;
    const Index::Term& only = condition.terms()[0];
    const auto scale = known(only.scale), offset = known(condition.offset());
    if (only.atom.kind != Index::AtomKind::Axis || !scale || !offset || (*scale != 1 && *scale != -1))
      return false;
    const auto axis = std::ranges::find(t.summed, only.atom.axis);
    if (axis == t.summed.end()) return false;
    const auto extent = known(axis->extent);
    if (!extent) return false;
    const std::int64_t low = *scale == 1 ? std::max<std::int64_t>(0, -*offset) : 0;
    const std::int64_t high = *scale == 1 ? *extent : std::min(*extent, *offset + 1);
    if (high <= low) {
      t.scale = 0;
      t.domain.clear();
      return true;
    }
    const Axis narrower{form_.next_axis++, Dim(high - low)};
    const Axis old = std::exchange(*axis, narrower);
    replace(t, old, Index(narrower) + Index(low));
    return true;
  }

  std::optional<Split> split_in(const Index& i) const {
    for (const Index::Term& term : i.terms()) {
      if (term.atom.kind == Index::AtomKind::Axis) continue;
      if (const auto inner = term.atom.inner->as_axis()) return Split{*inner, term.atom.divisor};
      if (const auto deeper = split_in(*term.atom.inner)) return deeper;
      // An axis that is longer than the divisor, and runs fastest.
      for (const Index::Term& t : term.atom.inner->terms())
        if (t.atom.kind == Index::AtomKind::Axis && t.scale.is(1))
          return Split{t.atom.axis, term.atom.divisor};
      return Split{{}, 0};
    }
    return std::nullopt;
  }

  std::optional<Split> wanted_split() const {
    for (const LinearTerm& t : form_.terms)
      for (const LinearFactor& f : t.factors)
        for (const Index& i : f.at)
          if (const auto split = split_in(i)) return split;
    return std::nullopt;
  }

  bool apply(const Split& split) {
    if (split.axis.id < 0) return false;
    const auto outer = Dim::exact_quotient(split.axis.extent, split.by);
    if (!outer || outer->is(0) || outer->is(1)) return false;
    const Axis high{form_.next_axis++, *outer}, low{form_.next_axis++, split.by};
    const Index whole = split.by * Index(high) + Index(low);
    for (auto& parts : form_.axes) {
      const auto at = std::ranges::find(parts, split.axis);
      if (at == parts.end()) continue;
      *at = high;
      parts.insert(at + 1, low);
      replace_everywhere(split.axis, whole);
      return true;
    }
    for (LinearTerm& t : form_.terms) {
      const auto at = std::ranges::find(t.summed, split.axis);
      if (at == t.summed.end()) continue;
      *at = high;
      t.summed.push_back(low);
      replace(t, split.axis, whole);
      return true;
    }
    return false;
  }

  bool is_settled() const {
    return std::ranges::all_of(form_.terms, [](const LinearTerm& t) { return t.domain.empty(); });
  }

  LinearForm form_;
  int narrowed_ = 0;
};

}  // namespace

std::optional<LinearForm> linear_form(const Site& site, Value value) {
  const auto& shape = site.inference.of(value).shape;
  if (!shape) return std::nullopt;
  LinearForm out;
  LinearFactor self{.value = value, .at = {}};
  for (const Dim& extent : *shape) {
    const Axis axis{out.next_axis++, extent};
    out.axes.push_back({axis});
    self.at.push_back(extent.is(1) ? Index(0) : Index(axis));
  }
  out.terms.push_back({.scale = 1, .summed = {}, .factors = {self}, .domain = {}});
  return out;
}

std::optional<LinearForm> expanded(const Site& site, const LinearForm& form, Value factor) try {
  const auto formula = site.formula(factor.node);
  if (!formula || factor.output != 0 || !is_float(formula->output(0).type)) return std::nullopt;
  LinearForm out = form;
  out.terms.clear();
  const auto times = [&](const LinearTerm& t) {
    return std::ranges::count(t.factors, factor, &LinearFactor::value);
  };
  for (const LinearTerm& rest : form.terms) {
    const bool is_squared = times(rest) > 1;
    std::vector<LinearTerm> terms{rest};
    while (true) {
      const auto at =
          std::ranges::find_if(terms[0].factors, [&](const LinearFactor& f) { return f.value == factor; });
      if (at == terms[0].factors.end()) break;
      if (at->is_inverse) return std::nullopt;
      const std::ptrdiff_t number = at - terms[0].factors.begin();
      std::vector<LinearTerm> next;
      for (LinearTerm& t : terms) {
        const std::vector<Index> place = t.factors[static_cast<std::size_t>(number)].at;
        t.factors.erase(t.factors.begin() + number);
        const auto parts =
            Multiplied(*formula, site.node(factor.node), out.next_axis).stage(formula->output(0), place);
        // (x - m)² is not x² - 2xm + m² in floats.
        if (!parts || (is_squared && parts->size() > 1)) return std::nullopt;
        for (const LinearTerm& part : *parts) {
          LinearTerm whole = t;
          whole.scale *= part.scale;
          whole.summed.insert(whole.summed.end(), part.summed.begin(), part.summed.end());
          // At the end, so that a factor that is there twice is found at the same place of all terms.
          whole.factors.insert(whole.factors.end(), part.factors.begin(), part.factors.end());
          whole.domain = both(whole.domain, part.domain);
          if (whole.factors.size() > kMostFactors) return std::nullopt;
          next.push_back(std::move(whole));
        }
      }
      if (next.empty()) {
        terms.clear();
        break;
      }
      terms = std::move(next);
    }
    out.terms.insert(out.terms.end(), terms.begin(), terms.end());
    if (out.terms.size() > kMostTerms) return std::nullopt;
  }
  if (out.terms.empty()) return std::nullopt;
  auto settled = Settled(std::move(out)).form();
  if (!settled) return std::nullopt;
  for (const LinearTerm& t : settled->terms)
    for (const LinearFactor& f : t.factors)
      if (site.inference.of(f.value).type != formula->output(0).type || !labelled(site, f))
        return std::nullopt;
  return settled;
} catch (const DimOverflow&) {
  return std::nullopt;
}

namespace {

// Whether this number of positions covers an axis. An open axis that was cut into parts is a multiple of
// their size, or the model does not run: 8 · floor(n / 8) is n.
bool covers(const Dim& covered, const Dim& extent, const std::vector<Axis>& parts) {
  if (covered == extent) return true;
  if (extent.is_concrete() || parts.empty()) return false;
  Dim inner = 1;
  for (const Axis& a : parts | std::views::drop(1)) inner = inner * a.extent;
  const auto size = inner.value();
  return size && *size > 1 && covered == Dim::floor(extent, *size) * inner;
}

}  // namespace

std::optional<std::vector<LabelledAxis>> labelled(const Site& site, const LinearFactor& factor) {
  const auto& shape = site.inference.of(factor.value).shape;
  if (!shape) return std::nullopt;
  std::vector<LabelledAxis> out;
  std::vector<Axis> used;
  for (std::size_t d = 0; d < factor.at.size(); ++d) {
    const Index& i = factor.at[d];
    LabelledAxis axis;
    struct Digit {
      Dim scale;
      Axis axis;
    };
    std::vector<Digit> digits;
    for (const Index::Term& t : i.terms()) {
      if (t.atom.kind != Index::AtomKind::Axis) return std::nullopt;
      if (std::ranges::find(used, t.atom.axis) != used.end()) return std::nullopt;
      used.push_back(t.atom.axis);
      digits.push_back({t.scale, t.atom.axis});
    }
    // The fastest first: each next one's scale is what the ones before it cover.
    Dim covered = 1;
    bool is_first = true;
    while (!digits.empty()) {
      auto next = std::ranges::find_if(digits, [&](const Digit& g) { return g.scale == covered; });
      if (next == digits.end() && is_first) {
        // A step along the axis.
        next =
            std::ranges::min_element(digits, {}, [](const Digit& g) { return g.scale.value().value_or(0); });
        const auto step = next->scale.value();
        if (!step || *step < 1) return std::nullopt;
        axis.step = *step;
        covered = Dim(*step);
      }
      if (next == digits.end()) return std::nullopt;
      covered = covered * next->axis.extent;
      axis.labels.insert(axis.labels.begin(), next->axis);
      digits.erase(next);
      is_first = false;
    }
    const auto begin = i.offset().value();
    if (!begin || *begin < 0) return std::nullopt;
    axis.begin = *begin;
    axis.is_whole = *begin == 0 && axis.step == 1 && covers(covered, (*shape)[d], axis.labels);
    if (!axis.is_whole && !(covered.is_concrete() && (*shape)[d].is_concrete())) {
      // One position of an axis of unknown extent is known to be there if it is the first of one.
      if (!(axis.labels.empty() && (*shape)[d].is_concrete())) return std::nullopt;
    }
    out.push_back(std::move(axis));
  }
  return out;
}

}  // namespace isomer
