#include "optimizer/facts/positions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace isomer {
namespace {

// Longer axes and lists count as needed whole: a choice among more positions is no cut of an activation.
constexpr std::int64_t kMostPositions = std::int64_t{1} << 16;

void sort_once(std::vector<std::int64_t>& list) {
  std::ranges::sort(list);
  list.erase(std::ranges::unique(list).begin(), list.end());
}

}  // namespace

Positions Positions::listed(std::vector<std::int64_t> list, std::int64_t extent) {
  sort_once(list);
  Positions out;
  if (static_cast<std::int64_t>(list.size()) < extent && extent <= kMostPositions)
    out.list_ = std::move(list);
  return out;
}

Positions Positions::chosen(int selection, int place) {
  Positions out;
  out.selection_ = selection;
  out.place_ = place;
  return out;
}

std::optional<Progression> as_progression(const std::vector<std::int64_t>& list) {
  if (list.empty()) return std::nullopt;
  Progression out{.first = list[0], .count = static_cast<std::int64_t>(list.size())};
  if (list.size() > 1) out.step = list[1] - list[0];
  for (std::size_t k = 1; k < list.size(); ++k)
    if (list[k] - list[k - 1] != out.step) return std::nullopt;
  return out.step > 0 ? std::optional(out) : std::nullopt;
}

std::optional<Progression> Positions::progression() const {
  return list_ ? as_progression(*list_) : std::nullopt;
}

Positions Positions::hull(std::int64_t extent) const {
  if (!list_ || list_->empty() || progression()) return *this;
  std::int64_t step = 0;
  for (const std::int64_t p : *list_) step = std::gcd(step, p - list_->front());
  std::vector<std::int64_t> out;
  for (std::int64_t p = list_->front(); p <= list_->back(); p += step) out.push_back(p);
  return listed(std::move(out), extent);
}

Positions Positions::range(std::int64_t extent) const {
  if (!list_ || list_->empty()) return *this;
  std::vector<std::int64_t> out(static_cast<std::size_t>(list_->back() - list_->front() + 1));
  std::iota(out.begin(), out.end(), list_->front());
  return listed(std::move(out), extent);
}

Positions Positions::united(const Positions& other, const Dim& extent) const {
  if (*this == other) return *this;
  if (!list_ || !other.list_ || !extent.is_concrete()) return {};
  std::vector<std::int64_t> both = *list_;
  both.insert(both.end(), other.list_->begin(), other.list_->end());
  return listed(std::move(both), extent.concrete());
}

bool is_cut(const Needs& needs) {
  return std::ranges::any_of(needs, [](const Positions& p) { return !p.is_whole(); });
}

std::string text(const Needs& needs) {
  std::vector<std::string> axes;
  for (const Positions& p : needs) {
    const auto steps = p.progression();
    if (p.is_whole()) axes.emplace_back("*");
    else if (p.selection() >= 0) axes.push_back(fmt::format("choice {}.{}", p.selection(), p.place()));
    else if (!steps) axes.push_back(fmt::format("{{{}}}", fmt::join(*p.list(), " ")));
    else if (steps->count == 1) axes.push_back(fmt::format("{}", steps->first));
    else if (steps->step == 1) axes.push_back(fmt::format("{}:{}", steps->first, steps->last() + 1));
    else axes.push_back(fmt::format("{}:{}:{}", steps->first, steps->last() + 1, steps->step));
  }
  return fmt::format("[{}]", fmt::join(axes, ", "));
}

std::optional<std::vector<std::int64_t>> image(const Index& index, const std::vector<Axis>& axes,
                                               const Needs& needs) {
  if (!index.offset().is_concrete()) return std::nullopt;
  std::vector<std::int64_t> out{index.offset().concrete()};
  for (const Index::Term& t : index.terms()) {
    if (!t.scale.is_concrete()) return std::nullopt;
    std::optional<std::vector<std::int64_t>> atom;
    if (t.atom.kind == Index::AtomKind::Axis) {
      const auto at = std::ranges::find(axes, t.atom.axis);
      const auto place = static_cast<std::size_t>(at - axes.begin());
      if (at != axes.end() && !needs[place].is_whole()) {
        atom = needs[place].list();
      } else if (t.atom.axis.extent.is_concrete() && t.atom.axis.extent.concrete() <= kMostPositions) {
        atom.emplace(static_cast<std::size_t>(t.atom.axis.extent.concrete()));
        std::iota(atom->begin(), atom->end(), 0);
      }
    } else if (t.atom.divisor.is_concrete()) {
      atom = image(*t.atom.inner, axes, needs);
      if (!atom) return std::nullopt;
      for (std::int64_t& v : *atom)
        v = t.atom.kind == Index::AtomKind::Floor ? floor_div(v, t.atom.divisor.concrete())
                                                  : floor_mod(v, t.atom.divisor.concrete());
      sort_once(*atom);
    }
    if (!atom || static_cast<std::int64_t>(atom->size() * out.size()) > 16 * kMostPositions)
      return std::nullopt;
    std::vector<std::int64_t> sums;
    for (const std::int64_t v : *atom)
      for (const std::int64_t s : out)
        sums.push_back(checked_add(s, checked_multiply(t.scale.concrete(), v)));
    sort_once(sums);
    out = std::move(sums);
  }
  return out;
}

}  // namespace isomer
