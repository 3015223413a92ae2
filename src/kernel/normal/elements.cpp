#include "kernel/normal/elements.h"

#include <algorithm>

#include "base/check.h"

namespace isomer {
namespace {

Points none(const Points& like) { return like - like; }

Relation joined(const std::vector<Weighted>& weighted) {
  Relation out = weighted.front().at;
  for (std::size_t i = 1; i < weighted.size(); ++i) out = out | weighted[i].at;
  return out;
}

// Groups with the most factors first: their coordinates distinguish positions best.
std::vector<Group> by_information(const Polynomial& polynomial) {
  std::vector<Group> out;
  for (const auto& [group, weighted] : polynomial.groups) out.push_back(group);
  std::ranges::stable_sort(out, std::greater<>{}, [](const Group& g) { return g.elements.size(); });
  return out;
}

// Whether one group alone has a term at every position, and none has one elsewhere.
bool covers(const Polynomial& polynomial, const Points& positions) {
  bool whole = false;
  for (const auto& [group, weighted] : polynomial.groups) {
    for (const Weighted& w : weighted) {
      const Points here = w.at.domain();
      if (!here.is_subset_of(positions)) return false;
      whole = whole || positions.is_subset_of(here);
    }
  }
  return whole;
}

// Positions at which more than one weighted relation has a point.
Points shared_positions(const Polynomial& polynomial, const Points& nothing) {
  Points once = nothing, more = nothing;
  for (const auto& [group, weighted] : polynomial.groups) {
    for (const Weighted& w : weighted) {
      const Points here = w.at.domain();
      more = more | (once & here);
      once = once | here;
    }
  }
  return more.coalesce();
}

}  // namespace

int Elements::tensor(int rank) {
  elements_.push_back({.kind = Element::Kind::Tensor, .rank = rank});
  return static_cast<int>(elements_.size()) - 1;
}

int Elements::number(const Rational& value) {
  const auto [at, is_new] = numbers_.try_emplace(value, static_cast<int>(elements_.size()));
  if (is_new) elements_.push_back({.kind = Element::Kind::Number, .number = value});
  return at->second;
}

int Elements::apply(Fn fn, ElementType type, const std::vector<int>& args, ElementType of) {
  // Floats of any width are real numbers; only a cast says which of them it rounds to.
  if (is_float(type) && fn != Fn::Cast) type = ElementType::Float;
  const auto [at, is_new] =
      applications_.try_emplace({fn, type, of, args}, static_cast<int>(elements_.size()));
  if (is_new) {
    int rank = 0;
    for (const int a : args) rank += (*this)[a].rank;
    elements_.push_back({.kind = Element::Kind::Apply, .rank = rank, .fn = fn, .type = type, .args = args});
  }
  return at->second;
}

std::vector<Piece> Elements::pieces(const Polynomial& value, const Points& positions) {
  std::vector<Piece> out;
  const Points nothing = none(positions);
  Points rest = positions;
  bool is_whole = covers(value, positions);  // then nothing has to be cut away from it
  if (!is_whole) {
    const Points there = support(value, nothing);
    if (const Points zero = positions - there; !zero.is_empty()) out.push_back({number(0), to_nothing(zero)});
    rest = positions & there;
  }
  const auto is_simple = [](const Group& g) { return g.elements.size() <= 1 && g.symbols.empty(); };
  if (std::ranges::any_of(value.groups, [&](const auto& g) { return is_simple(g.first); })) {
    const Points shared = shared_positions(value, nothing);
    for (const auto& [group, weighted] : value.groups) {
      if (!is_simple(group)) continue;
      for (const Weighted& w : weighted) {
        // One coordinate for each position: a sum has one term and weight 1, too, but is no function.
        const bool is_number = group.elements.empty();
        if (!is_number && (w.weight != 1 || !w.at.is_function())) continue;
        const Points alone = (w.at.domain() & rest) - shared;
        if (alone.is_empty()) continue;
        out.push_back({is_number ? number(w.weight) : group.elements[0], w.at.on(alone).coalesce()});
        rest = rest - alone;
        is_whole = false;
      }
    }
    rest = rest.coalesce();
  }
  for (Piece& p : match(Element::Kind::Polynomial, {}, is_whole ? value : on(value, rest), rest))
    out.push_back(std::move(p));
  return out;
}

std::vector<Piece> Elements::fold(Reduction reduction, const std::vector<Piece>& bodies,
                                  const Points& positions) {
  Polynomial body;
  const auto add = [&](int element, const Relation& here) {
    if (here.is_empty()) return;
    auto& weighted = body.groups[{.elements = {element}, .symbols = {}}];
    if (weighted.empty()) weighted.push_back({1, here});
    else weighted[0].at = (weighted[0].at | here).coalesce();
  };
  for (const Piece& b : bodies) {
    const Relation here = b.to.ins(positions.rank()).on(positions);
    const Element& e = elements_[static_cast<std::size_t>(b.element)];
    if (e.kind != Element::Kind::Fold || e.fold != reduction) {
      add(b.element, here);
      continue;
    }
    // The largest of largest ones is the largest of all: sets, so that what is in several counts once.
    for (const auto& [group, weighted] : e.body.groups) add(group.elements[0], here.then(weighted[0].at));
  }
  // The maximum of one is that one.
  std::vector<Piece> out;
  Points rest = positions;
  const Points shared = shared_positions(body, none(positions));
  for (const auto& [group, weighted] : body.groups) {
    if (!weighted[0].at.is_function()) continue;
    const Points alone = weighted[0].at.domain() - shared;
    if (alone.is_empty()) continue;
    out.push_back({group.elements[0], weighted[0].at.on(alone).coalesce()});
    rest = rest - alone;
  }
  for (Piece& p : match(Element::Kind::Fold, reduction, on(body, rest), rest)) out.push_back(std::move(p));
  return out;
}

Elements::Candidates Elements::candidates(int element, const Group& group, const Relation& here,
                                          const Points& rest) {
  Element& known = elements_[static_cast<std::size_t>(element)];
  Element::Anchor& anchor = known.anchors.at(group);
  if (!anchor.hull) anchor.hull = joined(known.body.groups.at(group)).hull();
  const Relation straight = here.hull().then(anchor.hull->inverse());
  if (straight.is_function()) return {straight.on(rest).into(*known.domain)};
  if (!anchor.smallest) anchor.smallest = joined(known.body.groups.at(group)).smallest();
  const Relation m = here.smallest().then(anchor.smallest->inverse());
  if (m.is_function()) return {m};
  // Windows that are cut off at a border begin alike and end apart.
  const Relation ends = joined(known.body.groups.at(group)).largest();
  const Relation both = m & here.largest().then(ends.inverse());
  return {both, both.is_function()};
}

std::vector<Piece> Elements::match(Element::Kind kind, Reduction reduction, Polynomial body, Points rest) {
  std::vector<Piece> out;
  if (rest.is_empty()) return out;
  const Points nothing = none(rest);
  std::optional<Points> shared;  // found when first needed
  for (const Group& group : by_information(body)) {
    const auto known = by_group_.find({kind, reduction, group});
    if (known == by_group_.end()) continue;
    const std::vector<Weighted>& weighted = body.groups.at(group);
    for (const int element : known->second) {
      const Relation here = joined(weighted).on(rest);
      if (here.is_empty()) break;
      // Where several coordinates are possible, one after the other: phases of an enlarged image look alike
      // from their ends.
      Candidates possible = candidates(element, group, here, rest);
      for (int tries = 0; tries < most_candidates_ && !possible.at.is_empty(); ++tries) {
        const Relation m = possible.is_function ? possible.at : possible.at.smallest();
        const Points domain = m.domain();
        // Where this group is alone, the others need no look.
        bool alone = weighted.size() == 1;
        if (alone && body.groups.size() > 1) {
          const auto& other = body.groups.begin()->first == group ? std::next(body.groups.begin())->second
                                                                  : body.groups.begin()->second;
          alone = (domain & other[0].at.domain()).is_empty();
          if (alone && !shared) shared = shared_positions(body, nothing);
          alone = alone && (domain & *shared).is_empty();
        }
        Polynomial mine;
        if (alone)
          mine.groups.emplace(group, std::vector<Weighted>{{weighted[0].weight, weighted[0].at.on(domain)}});
        else mine = on(body, domain);
        const Points good = domain - differing(mine, at(m, (*this)[element].body), nothing);
        if (!good.is_empty()) {
          out.push_back({element, m.on(good)});
          rest = (rest - good).coalesce();
          if (rest.is_empty()) return out;
        }
        if (possible.is_function) break;
        possible.at = (possible.at - m).on(rest);
      }
    }
  }
  for (Piece& p : create(kind, reduction, out.empty() ? body : on(body, rest), rest))
    out.push_back(std::move(p));
  return out;
}

std::vector<Piece> Elements::create(Element::Kind kind, Reduction reduction, const Polynomial& body,
                                    const Points& rest) {
  const int id = static_cast<int>(elements_.size());
  Element made{.kind = kind, .rank = rest.rank(), .fold = reduction, .body = body, .domain = rest};
  std::vector<Piece> out;
  Points own = rest;
  for (const auto& [group, weighted] : body.groups) made.anchors.emplace(group, Element::Anchor{});
  // Positions that hold the same scalar share the first one's coordinates. If coordinates determine the
  // position in one group, there are none.
  const bool distinct = std::ranges::any_of(made.anchors, [&](auto& a) {
    const Relation here = joined(body.groups.at(a.first));
    a.second.hull = here.hull();
    return a.second.hull->inverse().is_function() && rest.is_subset_of(here.domain());
  });
  if (!distinct) {
    for (auto& [group, anchor] : made.anchors) {
      anchor.smallest = joined(body.groups.at(group)).smallest();
      if (anchor.smallest->is_injective()) continue;
      const Relation first = anchor.smallest->then(anchor.smallest->inverse()).smallest();
      const Points domain = first.domain();
      const Points good = domain - differing(on(body, domain), at(first, body), none(rest));
      if (good.is_empty()) continue;
      const Relation shared = first.on(good).coalesce();
      out.push_back({id, shared});
      own = (own - good).coalesce();
      const Points kept = (own | shared.range()).coalesce();
      made.body = on(body, kept);
      made.domain = kept;
      made.anchors.clear();
      for (const auto& [other, weighted] : made.body.groups) made.anchors.emplace(other, Element::Anchor{});
      break;
    }
  }
  if (!own.is_empty()) out.push_back({id, identity_on(own)});
  for (const auto& [group, anchor] : made.anchors) by_group_[{kind, reduction, group}].push_back(id);
  elements_.push_back(std::move(made));
  return out;
}

}  // namespace isomer
