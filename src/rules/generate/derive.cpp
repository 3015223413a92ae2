#include "rules/generate/derive.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kernel/prove/shrink.h"
#include "model/graph/infer.h"
#include "model/graph/text/text.h"
#include "rules/generate/rule_text.h"

namespace isomer::rules {

ShapeMemory::ShapeNumber ShapeMemory::number(const Dims& shape) {
  const auto [at, is_new] = numbers_.emplace(text(shape), static_cast<ShapeNumber>(shapes_.size()));
  if (is_new) shapes_.push_back(shape);
  return at->second;
}

bool ShapeMemory::fits(ShapeNumber number, const Needed& needed) const {
  const Dims& shape = shapes_[number];
  return shape.size() == needed.rank &&
         std::ranges::all_of(needed.extents, [&](const auto& e) { return shape[e.first].is(e.second); });
}

namespace {

// A graph of one node, through the same inference as any model.
std::optional<Dims> shape_of_word(const Words& words, const Term& term,
                                  const std::array<const Dims*, 2>& operands) {
  static constexpr std::array<const char*, 2> kNames = {"x", "y"};
  std::vector<Term> terms;
  std::vector<std::string> given;
  for (std::size_t k = 0; k < term.count; ++k) {
    terms.push_back(Term::variable(static_cast<TermId>(k)));
    std::vector<std::string> extents;
    for (std::size_t i = 0; i < operands[k]->size(); ++i)
      extents.push_back(fmt::format("{}{}", kNames[k], i));
    given.push_back(fmt::format("float[{}] {}", fmt::join(extents, ", "), kNames[k]));
  }
  terms.push_back({.word = term.word, .count = term.count, .operands = {0, 1}});
  const std::string body = body_text(words, terms, {kNames[0], kNames[1]});
  const std::size_t arrow = body.rfind(" => ");
  const auto open =
      parse_graph(fmt::format("<ir_version: 8, opset_import: [\"\" : 18]> g ({}) => ({}) {}",
                              fmt::join(given, ", "), body.substr(arrow + 4), body.substr(0, arrow)));
  ISOMER_CHECK(open.ok());
  const Graph graph = with_symbols_replaced(*open, [&](std::string_view s) {
    const Dims& shape = *operands[s[0] == kNames[0][0] ? 0 : 1];
    return shape[static_cast<std::size_t>(s[1] - '0')];
  });
  const auto info = infer(graph);
  return info.ok() ? info->of(graph.outputs()[0]).shape : std::nullopt;
}

}  // namespace

std::optional<ShapeMemory::ShapeNumber> ShapeMemory::made(const Words& words, const Term& term,
                                                          const std::array<ShapeNumber, 2>& operands) {
  Term key = term;
  for (std::size_t k = 0; k < term.count; ++k) key.operands[k] = operands[k];
  if (const auto known = made_.find(key); known != made_.end()) return known->second;
  std::array<const Dims*, 2> shapes{};
  for (std::size_t k = 0; k < term.count; ++k) shapes[k] = &shapes_[operands[k]];
  const auto shape = shape_of_word(words, term, shapes);
  return made_.emplace(key, shape ? std::optional(number(*shape)) : std::nullopt).first->second;
}

bool ShapeMemory::speaks_of(const Equation& equation, std::size_t equation_number,
                            const std::vector<ShapeNumber>& variables) {
  for (std::size_t v = 0; v < variables.size(); ++v)
    if (variables[v] != kNone && !fits(variables[v], equation.needed[v])) return false;
  if (equation.is_general) return true;
  Hasher hasher;
  hasher.add(static_cast<std::uint64_t>(equation_number));
  for (const ShapeNumber n : variables) hasher.add(static_cast<std::uint64_t>(n));
  const auto [at, is_new] = speaks_of_.emplace(hasher.digest(), false);
  if (!is_new) return at->second;
  std::vector<const Dims*> shapes;
  for (const ShapeNumber n : variables) shapes.push_back(n == kNone ? nullptr : &shapes_[n]);
  return at->second = EquationIndex::has_sizes(equation, shapes);
}

namespace {

using ShapeNumber = ShapeMemory::ShapeNumber;

// Terms that are one if they are equal.
class Pool final : public Terms {
 public:
  Pool(const Words& words, ShapeMemory& memory) : words_(words), memory_(memory) {}
  TermId add(const Side& side) {
    std::vector<TermId> to;
    for (std::size_t i = 0; i < side.terms.size(); ++i)
      to.push_back(add(moved(side.terms[i], to), memory_.number(side.shapes[i])));
    return to.back();
  }
  // The other side of an equation that matched; kNoTerm: it is not well formed.
  TermId add(const Side& side, const std::vector<TermId>& variables) {
    to_.clear();
    for (const Term& t : side.terms) {
      to_.push_back(t.word == kVariable ? variables[t.operands[0]] : add(moved(t, to_)));
      if (to_.back() == kNoTerm) return kNoTerm;
    }
    return to_.back();
  }
  // All terms in one, operands first.
  void parts(TermId root, std::vector<TermId>& out) const {
    out.assign(1, root);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Term& t = terms_[out[i]];
      for (std::size_t k = 0; k < t.count; ++k)
        if (std::ranges::find(out, t.operands[k]) == out.end()) out.push_back(t.operands[k]);
    }
    std::ranges::sort(out);  // an operand is older than its users
  }
  std::size_t size_of(TermId root) const {
    std::vector<TermId> all;
    parts(root, all);
    return all.size();
  }
  // `parts` are those of the root. kNoTerm: it is not well formed.
  TermId replaced(const std::vector<TermId>& parts, TermId root, TermId old, TermId by) {
    // The terms that contain the old term, from the inside out. Its replacement may be younger than its
    // users.
    to_.clear();
    const auto now = [&](TermId id) {
      const auto at = std::ranges::lower_bound(parts, id);
      return to_[static_cast<std::size_t>(at - parts.begin())];
    };
    for (const TermId id : parts) {
      Term t = terms_[id];
      for (std::size_t k = 0; k < t.count; ++k) t.operands[k] = now(t.operands[k]);
      to_.push_back(id == old ? by : t == terms_[id] ? id : add(t));
      if (to_.back() == kNoTerm) return kNoTerm;
    }
    return now(root);
  }
  const Term& at(TermId id) const override { return terms_[id]; }
  const Dims& shape(TermId id, int /*instance*/) const override { return memory_.shape(shapes_[id]); }
  bool fits(TermId id, const Needed& needed) const override { return memory_.fits(shapes_[id], needed); }
  bool is_spoken_of(const Equation& e, std::size_t number, const std::vector<TermId>& variables) {
    shapes_of_variables_.clear();
    for (const TermId v : variables)
      shapes_of_variables_.push_back(v == kNoTerm ? ShapeMemory::kNone : shapes_[v]);
    return memory_.speaks_of(e, number, shapes_of_variables_);
  }

 private:
  static Term moved(const Term& term, const std::vector<TermId>& to) {
    Term out = term;
    for (std::size_t k = 0; k < term.count; ++k) out.operands[k] = to[term.operands[k]];
    return out;
  }
  Term sorted(Term term) const {
    if (term.count == 2 && term.operands[1] < term.operands[0] && words_.of(term.word).is_commutative())
      std::swap(term.operands[0], term.operands[1]);
    return term;
  }
  TermId add(const Term& term, ShapeNumber shape) {
    const auto [at, is_new] = known_.emplace(sorted(term), static_cast<TermId>(terms_.size()));
    if (is_new) {
      terms_.push_back(at->first);
      shapes_.push_back(shape);
    }
    return at->second;
  }
  TermId add(const Term& unsorted) {
    const Term term = sorted(unsorted);
    if (const auto at = known_.find(term); at != known_.end()) return at->second;
    std::array<ShapeNumber, 2> operands{};
    for (std::size_t k = 0; k < term.count; ++k) operands[k] = shapes_[term.operands[k]];
    const auto shape = memory_.made(words_, term, operands);
    return shape ? add(term, *shape) : kNoTerm;
  }
  const Words& words_;
  ShapeMemory& memory_;
  std::deque<Term> terms_;
  std::vector<ShapeNumber> shapes_;
  std::unordered_map<Term, TermId, TermHash> known_;
  std::vector<TermId> to_;
  std::vector<ShapeNumber> shapes_of_variables_;
};

// Whole sides that can be reached from one, with the way there.
class Reach {
 public:
  Reach(Pool& pool, const EquationIndex& index, const DeriveBounds& bounds, TermId start)
      : pool_(pool), index_(index), bounds_(bounds) {
    reached_.push_back({.root = start});
    numbers_.emplace(start, 0);
  }
  // The way to a side that was reached; nullopt: it was not.
  std::optional<Derivation> way(TermId root) const {
    const auto at = numbers_.find(root);
    if (at == numbers_.end()) return std::nullopt;
    Derivation out;
    for (std::size_t n = at->second; n != 0; n = reached_[n].from) out.push_back(reached_[n].rule);
    std::ranges::reverse(out);
    return out;
  }
  // Sides that the last step reached.
  template <class Visit>
  void each_new(const Visit& visit) const {
    for (std::size_t n = first_new_; n < reached_.size(); ++n) visit(reached_[n].root);
  }

  void step() {
    const std::size_t end = reached_.size();
    for (std::size_t n = std::exchange(first_new_, end); n < end; ++n) {
      const TermId root = reached_[n].root;
      pool_.parts(root, parts_);
      for (const TermId part : parts_)
        each_rewrite(part, [&](const Equation& e, const std::vector<TermId>& variables) {
          const TermId made = rewritten(root, part, e, variables);
          if (reached_.size() >= bounds_.most_terms) return true;
          if (made == kNoTerm || numbers_.contains(made)) return false;
          pool_.parts(made, made_parts_);
          if (made_parts_.size() > bounds_.most_nodes) return false;
          numbers_.emplace(made, reached_.size());
          reached_.push_back({.root = made, .from = n, .rule = e.rule});
          return false;
        });
    }
  }

  // One more step, to this side only; what else it reaches is not kept. nullopt: it is not reached.
  std::optional<Derivation> way_in_one_more(TermId target) {
    const WordId wanted = pool_.at(target).word;
    for (std::size_t n = first_new_; n < reached_.size(); ++n) {
      const TermId root = reached_[n].root;
      const bool is_alike = pool_.at(root).word == wanted;
      pool_.parts(root, parts_);
      std::optional<std::size_t> last;
      for (const TermId part : parts_) {
        if (part != root && !is_alike) continue;
        each_rewrite(part, [&](const Equation& e, const std::vector<TermId>& variables) {
          const Term& top = e.to.terms.back();
          if (part == root && top.word != kVariable && top.word != wanted) return false;
          if (rewritten(root, part, e, variables) != target) return false;
          last = e.rule;
          return true;
        });
        if (!last) continue;
        auto out = way(root);
        out->push_back(*last);
        return out;
      }
    }
    return std::nullopt;
  }

 private:
  // Equations that speak of a part and match it, until `visit` answers true.
  template <class Visit>
  void each_rewrite(TermId part, const Visit& visit) {
    const Term top = pool_.at(part);
    if (top.word == kVariable) return;
    index_.find(
        pool_, top,
        [&](std::size_t number, const std::vector<TermId>& variables) {
          const Equation& e = index_.all()[number];
          return pool_.is_spoken_of(e, number, variables) && visit(e, variables);
        },
        bounds_.which);
  }
  TermId rewritten(TermId root, TermId part, const Equation& e, const std::vector<TermId>& variables) {
    const TermId by = pool_.add(e.to, variables);
    return by == kNoTerm ? kNoTerm : pool_.replaced(parts_, root, part, by);
  }
  struct Reached {
    TermId root = kNoTerm;
    std::size_t from = 0, rule = 0;  // a number here; of the step
  };
  Pool& pool_;
  const EquationIndex& index_;
  const DeriveBounds& bounds_;
  std::vector<Reached> reached_;
  std::unordered_map<TermId, std::size_t> numbers_;
  std::size_t first_new_ = 0;
  std::vector<TermId> parts_, made_parts_;
};

}  // namespace

std::optional<Derivation> derive(const Words& words, const EquationIndex& index, const Side& a, const Side& b,
                                 const DeriveBounds& asked, ShapeMemory* memory) {
  ShapeMemory own;
  Pool pool(words, memory ? *memory : own);
  const TermId one = pool.add(a), other = pool.add(b);
  DeriveBounds bounds = asked;
  if (bounds.is_straight)
    bounds.most_nodes = std::min(bounds.most_nodes, std::max(pool.size_of(one), pool.size_of(other)));
  Reach from_a(pool, index, bounds, one), from_b(pool, index, bounds, other);
  const auto joined = [](std::optional<Derivation> x, const std::optional<Derivation>& y) {
    x->insert(x->end(), y->rbegin(), y->rend());
    return x;
  };
  const auto meeting = [&](const Reach& fresh) {
    std::optional<Derivation> out;
    fresh.each_new([&](TermId t) {
      if (out) return;
      const auto x = from_a.way(t), y = from_b.way(t);
      if (x && y && std::ssize(*x) + std::ssize(*y) <= bounds.steps) out = joined(x, y);
    });
    return out;
  };
  if (auto same = meeting(from_a)) return same;
  for (int step = 1; step < bounds.steps; ++step)
    for (Reach* reach : {&from_a, &from_b}) {
      reach->step();
      if (auto found = meeting(*reach)) return found;
    }
  // The last step is taken from one side only, and to the other: steps that have no way back.
  if (bounds.steps < 1) return std::nullopt;
  if (auto way = from_a.way_in_one_more(other)) return way;
  if (const auto way = from_b.way_in_one_more(one)) return joined(Derivation{}, way);
  return std::nullopt;
}

std::optional<Derivation> derive_rule(Words& words, const EquationIndex& index, const Rule& rule,
                                      const DeriveBounds& bounds) {
  std::optional<Derivation> longest;
  ShapeMemory memory;
  for (const auto& [left, right] : sides_of(words, rule)) {
    if (!left || !right) return std::nullopt;
    auto found = derive(words, index, *left, *right, bounds, &memory);
    if (!found) return std::nullopt;
    if (!longest || found->size() > longest->size()) longest = std::move(found);
  }
  return longest;
}

}  // namespace isomer::rules
