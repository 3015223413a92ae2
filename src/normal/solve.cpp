// Solving for a constant: the part of NormalForms that turns a question around.
#include <algorithm>

#include "base/check.h"
#include "normal/normal_form.h"

namespace isomer {
namespace {

// The coordinates of some of a group's elements first, then those of the others.
std::vector<int> brought_first(const Elements& elements, const std::vector<int>& group,
                               const std::vector<bool>& first) {
  std::vector<int> out;
  for (const bool wanted : {true, false}) {
    int dim = 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const int rank = elements[group[i]].rank;
      if (first[i] == wanted)
        for (int k = 0; k < rank; ++k) out.push_back(dim + k);
      dim += rank;
    }
  }
  return out;
}

// Which of the elements are in `part`, each taken once; nullopt: not all of `part` are there.
std::optional<std::vector<bool>> places_of(const std::vector<int>& elements, std::vector<int> part) {
  std::vector<bool> out(elements.size(), false);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto at = std::ranges::find(part, elements[i]);
    if (at == part.end()) continue;
    out[i] = true;
    part.erase(at);
  }
  if (!part.empty()) return std::nullopt;
  return out;
}

bool has_twins(const std::vector<int>& sorted) { return std::ranges::adjacent_find(sorted) != sorted.end(); }

}  // namespace

std::optional<Polynomial> NormalForms::solve(const Form& a, const Form& b, const Form& unknown) {
  ISOMER_CHECK(unknown.sum.size() == 1 && unknown.sum[0].factors.size() == 1);
  const auto element = source(unknown.sum[0].factors[0].source).element;
  ISOMER_CHECK(element.has_value(), "only a tensor can be solved for");
  const Polynomial left = polynomial(a.sum, a.axes), right = polynomial(read(b, to_indices(a.axes)), a.axes);
  Polynomial target = left;
  std::map<Group, std::vector<Weighted>> linear;
  for (const auto& [group, weighted] : right.groups) {
    const auto times = std::ranges::count(group.elements, *element);
    if (times > 1 || (times == 1 && (has_twins(group.elements) || weighted.size() != 1))) return std::nullopt;
    if (times == 1) linear.emplace(group, weighted);
    else
      for (const Weighted& w : weighted) target.groups[group].push_back({-w.weight, w.at});
  }
  target = reduced(target);
  // A linear group's other elements, and (position, their coordinates) -> the unknown's coordinates.
  struct Others {
    std::vector<int> elements;
    int rank = 0;
    Relation to_unknown;
  };
  const auto others_of = [&](const Group& with, const Weighted& factor) {
    std::vector<int> others = with.elements;
    std::erase(others, *element);
    int rank = 0;
    for (const int e : others) rank += elements_[e].rank;
    const auto order = brought_first(elements_, with.elements, *places_of(with.elements, others));
    return Others{std::move(others), rank, factor.at.permuted(order).moved_in(rank)};
  };

  Polynomial answer, check;
  for (const auto& [group, weighted] : target.groups) {
    if (has_twins(group.elements)) return std::nullopt;
    bool found = false;
    for (const auto& [with, factor] : linear) {
      const auto [others, rank, to_unknown] = others_of(with, factor[0]);
      const auto shared = places_of(group.elements, others);
      if (!shared || with.symbols != group.symbols) continue;
      // The unknown's coordinates must be one.
      if (!to_unknown.is_function()) return std::nullopt;
      Group rest{.elements = {}, .symbols = {}};
      for (std::size_t i = 0; i < group.elements.size(); ++i)
        if (!(*shared)[i]) rest.elements.push_back(group.elements[i]);
      for (const Weighted& w : weighted) {
        const Relation to_rest =
            w.at.permuted(brought_first(elements_, group.elements, *shared)).moved_in(rank);
        const Relation join = to_unknown.inverse().then(to_rest);
        answer.groups[rest].push_back({w.weight / factor[0].weight, join});
      }
      found = true;
      break;
    }
    if (!found) return std::nullopt;
  }
  answer = reduced(answer);

  // Put in: every linear group with the unknown replaced.
  for (const auto& [with, factor] : linear) {
    const auto [others, rank, to_unknown] = others_of(with, factor[0]);
    for (const auto& [rest, weighted] : answer.groups) {
      for (const Weighted& w : weighted) {
        Summand put{w.weight * factor[0].weight, with.symbols, others, to_unknown.then(w.at).moved_out(rank)};
        put.elements.insert(put.elements.end(), rest.elements.begin(), rest.elements.end());
        if (!put.at.is_empty()) add_symmetric(check, put);
      }
    }
  }
  const Points positions = box(space_, a.shape());
  if (!differing(target, reduced(check), positions - positions).is_empty()) return std::nullopt;
  return answer;
}

}  // namespace isomer
