#include "kernel/normal/polynomial.h"

#include <algorithm>
#include <unordered_map>

namespace isomer {
namespace {

// Adds up the weights of relations that are written alike.
std::vector<Weighted> merged_alike(const std::vector<Weighted>& weighted) {
  std::vector<Weighted> out;
  std::unordered_multimap<std::uint32_t, std::size_t> places;
  for (const Weighted& w : weighted) {
    bool found = false;
    const auto [first, last] = places.equal_range(w.at.hash());
    for (auto i = first; i != last && !found; ++i) {
      if (!out[i->second].at.same_form(w.at)) continue;
      out[i->second].weight += w.weight;
      found = true;
    }
    if (found) continue;
    places.emplace(w.at.hash(), out.size());
    out.push_back(w);
  }
  std::erase_if(out, [](const Weighted& w) { return w.weight == 0; });
  return out;
}

// Equal factors change places (NormalForms::add_symmetric): relations that overlap on diagonals, whose
// overlay is many small pieces.
bool has_equal_factors(const Group& group) {
  return std::ranges::adjacent_find(group.elements) != group.elements.end();
}

bool has_one_sign(const std::vector<Weighted>& weighted) {
  return std::ranges::all_of(weighted, [](const Weighted& w) { return w.weight > 0; }) ||
         std::ranges::all_of(weighted, [](const Weighted& w) { return w.weight < 0; });
}

// left - right, without what is in both.
std::vector<Weighted> difference(std::vector<Weighted> left, const std::vector<Weighted>& right) {
  std::vector<Weighted> rest;
  for (const Weighted& w : right) {
    const auto same = std::ranges::find_if(
        left, [&](const Weighted& l) { return l.weight == w.weight && l.at.same_form(w.at); });
    if (same == left.end()) rest.push_back({-w.weight, w.at});
    else left.erase(same);
  }
  std::erase_if(rest, [&](const Weighted& w) {
    const auto same =
        std::ranges::find_if(left, [&](const Weighted& l) { return l.weight == -w.weight && l.at == w.at; });
    if (same == left.end()) return false;
    left.erase(same);
    return true;
  });
  left.insert(left.end(), rest.begin(), rest.end());
  return left;
}

}  // namespace

std::vector<Weighted> overlaid(const std::vector<Weighted>& weighted) {
  std::vector<Weighted> out;
  for (const Weighted& w : merged_alike(weighted)) {
    Relation rest = w.at;
    std::vector<Weighted> next;
    bool rest_is_empty = rest.is_empty();
    for (Weighted& old : out) {
      if (rest_is_empty) {
        next.push_back(std::move(old));
        continue;
      }
      const Relation both = old.at & rest;
      if (both.is_empty()) {
        next.push_back(std::move(old));
        continue;
      }
      if (Relation only = old.at - rest; !only.is_empty()) next.push_back({old.weight, only.coalesce()});
      if (old.weight + w.weight != 0) next.push_back({old.weight + w.weight, both});
      rest = (rest - both).coalesce();
      rest_is_empty = rest.is_empty();
    }
    if (!rest_is_empty) next.push_back({w.weight, rest});
    out = std::move(next);
  }
  std::vector<Weighted> by_weight;
  for (Weighted& w : out) {
    bool joined = false;
    for (Weighted& other : by_weight) {
      if (other.weight != w.weight) continue;
      other.at = other.at | w.at;
      joined = true;
    }
    if (!joined) by_weight.push_back(std::move(w));
  }
  for (Weighted& w : by_weight) w.at = w.at.coalesce();
  return by_weight;
}

Polynomial reduced(const Polynomial& polynomial) {
  Polynomial out;
  for (const auto& [group, weighted] : polynomial.groups)
    if (auto parts = has_equal_factors(group) ? merged_alike(weighted) : std::vector<Weighted>{};
        !parts.empty() && has_one_sign(parts))
      out.groups.emplace(group, std::move(parts));
    else if (parts = overlaid(weighted); !parts.empty()) out.groups.emplace(group, std::move(parts));
  return out;
}

Polynomial on(const Polynomial& polynomial, const Points& positions) {
  Polynomial out;
  for (const auto& [group, weighted] : polynomial.groups)
    for (const Weighted& w : weighted)
      if (Relation part = w.at.on(positions); !part.is_empty())
        out.groups[group].push_back({w.weight, part.coalesce()});
  return out;
}

Polynomial at(const Relation& m, const Polynomial& polynomial) {
  Polynomial out;
  for (const auto& [group, weighted] : polynomial.groups)
    for (const Weighted& w : weighted)
      if (Relation part = m.then(w.at); !part.is_empty()) out.groups[group].push_back({w.weight, part});
  return out;
}

Points support(const Polynomial& polynomial, const Points& nothing) {
  Points out = nothing;
  for (const auto& [group, weighted] : polynomial.groups)
    for (const Weighted& w : weighted) out = out | w.at.domain();
  return out.coalesce();
}

Points differing(const Polynomial& a, const Polynomial& b, const Points& nothing) {
  Points out = nothing;
  const auto differ = [&](const std::vector<Weighted>& left, const std::vector<Weighted>& right) {
    for (const Weighted& w : overlaid(difference(left, right))) out = out | w.at.domain();
  };
  for (const auto& [group, weighted] : a.groups) {
    const auto other = b.groups.find(group);
    differ(weighted, other == b.groups.end() ? std::vector<Weighted>{} : other->second);
  }
  for (const auto& [group, weighted] : b.groups)
    if (!a.groups.contains(group)) differ({}, weighted);
  return out.coalesce();
}

}  // namespace isomer
