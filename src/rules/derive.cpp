#include "rules/derive.h"

#include <algorithm>
#include <deque>
#include <unordered_set>

namespace isomer::rules {
namespace {

// Terms that are one if they are equal.
class Pool final : public Terms {
 public:
  explicit Pool(const Words& words) : words_(words) {}
  TermId add(Term term, const Dims& shape) {
    if (term.count == 2 && term.operands[1] < term.operands[0] && words_.of(term.word).is_commutative())
      std::swap(term.operands[0], term.operands[1]);
    const auto [at, is_new] = known_.emplace(term, static_cast<TermId>(terms_.size()));
    if (is_new) {
      terms_.push_back(term);
      shapes_.push_back(shape);
    }
    return at->second;
  }
  TermId add(const Side& side) {
    std::vector<TermId> to;
    for (std::size_t i = 0; i < side.terms.size(); ++i)
      to.push_back(add(moved(side.terms[i], to), side.shapes[i]));
    return to.back();
  }
  // The other side of an equation that matched.
  TermId add(const Side& side, const Match& match) {
    std::vector<TermId> to;
    for (std::size_t i = 0; i < side.terms.size(); ++i) {
      const Term& t = side.terms[i];
      if (t.word == kVariable) {
        to.push_back(match.variables[t.operands[0]]);
        continue;
      }
      Dims shape;
      for (const Dim& d : side.shapes[i])
        shape.push_back(d.substitute([&](std::string_view s) {
          const auto at = match.sizes[0].find(s);
          return at == match.sizes[0].end() ? Dim::symbol(s) : at->second;
        }));
      to.push_back(add(moved(t, to), shape));
    }
    return to.back();
  }
  // All terms in one, operands first.
  std::vector<TermId> parts(TermId root) const {
    std::vector<TermId> out{root};
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Term& t = terms_[out[i]];
      for (std::size_t k = 0; k < t.count; ++k)
        if (std::ranges::find(out, t.operands[k]) == out.end()) out.push_back(t.operands[k]);
    }
    std::ranges::sort(out);  // an operand is older than its users
    return out;
  }
  TermId replaced(TermId root, TermId old, TermId by) {
    std::unordered_map<TermId, TermId> to{{old, by}};
    // What contains the old term, from the inside out. What replaces it may be younger than its users.
    for (const TermId id : parts(root)) {
      if (to.contains(id)) continue;
      Term t = terms_[id];
      for (std::size_t k = 0; k < t.count; ++k)
        if (const auto at = to.find(t.operands[k]); at != to.end()) t.operands[k] = at->second;
      to.emplace(id, t == terms_[id] ? id : add(t, Dims(shapes_[id])));
    }
    return to.at(root);
  }
  const Term& at(TermId id) const override { return terms_[id]; }
  const Dims& shape(TermId id, int /*instance*/) const override { return shapes_[id]; }

 private:
  static Term moved(const Term& term, const std::vector<TermId>& to) {
    Term out = term;
    for (std::size_t k = 0; k < term.count; ++k) out.operands[k] = to[term.operands[k]];
    return out;
  }
  const Words& words_;
  std::deque<Term> terms_;
  std::deque<Dims> shapes_;
  std::unordered_map<Term, TermId, TermHash> known_;
};

// Whole sides that can be reached from one, with the way there.
class Reach {
 public:
  Reach(Pool& pool, const EquationIndex& index, const DeriveBounds& bounds, TermId start)
      : pool_(pool), index_(index), bounds_(bounds), last_{start} {
    ways_.emplace(start, Derivation{});
  }
  const std::unordered_map<TermId, Derivation>& ways() const { return ways_; }
  const std::vector<TermId>& last() const { return last_; }  // reached by the last step

  void step() {
    std::vector<TermId> next;
    for (const TermId root : last_)
      for (const TermId part : pool_.parts(root)) {
        const Term top = pool_.at(part);
        if (top.word == kVariable) continue;
        index_.find(
            pool_, top,
            [&](const Equation& e, const Match& match) {
              const TermId made = pool_.replaced(root, part, pool_.add(e.to, match));
              if (ways_.size() >= bounds_.most_terms) return true;
              if (pool_.parts(made).size() > bounds_.most_nodes || ways_.contains(made)) return false;
              Derivation way = ways_.at(root);
              way.push_back(e.rule);
              ways_.emplace(made, std::move(way));
              next.push_back(made);
              return false;
            },
            bounds_.which);
      }
    last_ = std::move(next);
  }

 private:
  Pool& pool_;
  const EquationIndex& index_;
  const DeriveBounds& bounds_;
  std::unordered_map<TermId, Derivation> ways_;
  std::vector<TermId> last_;
};

}  // namespace

std::optional<Derivation> derive(const Words& words, const EquationIndex& index, const Side& a, const Side& b,
                                 const DeriveBounds& bounds) {
  Pool pool(words);
  Reach from_a(pool, index, bounds, pool.add(a)), from_b(pool, index, bounds, pool.add(b));
  const auto meeting = [&](const std::vector<TermId>& fresh) -> std::optional<Derivation> {
    for (const TermId t : fresh) {
      const auto x = from_a.ways().find(t), y = from_b.ways().find(t);
      if (x == from_a.ways().end() || y == from_b.ways().end()) continue;
      if (std::ssize(x->second) + std::ssize(y->second) > bounds.steps) continue;
      Derivation out = x->second;
      out.insert(out.end(), y->second.rbegin(), y->second.rend());
      return out;
    }
    return std::nullopt;
  };
  if (const auto same = meeting(from_a.last())) return same;
  for (int step = 0; step < bounds.steps; ++step)
    for (Reach* reach : {&from_a, &from_b}) {
      reach->step();
      if (const auto found = meeting(reach->last())) return found;
    }
  return std::nullopt;
}

std::optional<Derivation> derive_rule(Words& words, const EquationIndex& index, const Rule& rule,
                                      const DeriveBounds& bounds) {
  std::optional<Derivation> longest;
  for (const auto& [left, right] : sides_of(words, rule)) {
    if (!left || !right) return std::nullopt;
    auto found = derive(words, index, *left, *right, bounds);
    if (!found) return std::nullopt;
    if (!longest || found->size() > longest->size()) longest = std::move(found);
  }
  return longest;
}

}  // namespace isomer::rules
