#include "compiler/loops/fused_axes.h"

#include <algorithm>
#include <optional>

namespace isomer::lower {
namespace {

bool is_affine(const Index& index) {
  return std::ranges::all_of(index.terms(),
                             [](const Index::Term& t) { return t.atom.kind == Index::AtomKind::Axis; });
}

// Open sizes that divide quotients and remainders of an axis. The divisor of a quotient's remainder separates
// parts of that quotient, once it is an axis.
void collect_divisors(const Index& index, const Axis& axis, Dims& out) {
  for (const Index::Term& t : index.terms()) {
    if (t.atom.kind == Index::AtomKind::Axis || !t.atom.inner->mentions(axis)) continue;
    if (!t.atom.divisor.is_concrete() && is_affine(*t.atom.inner)) out.push_back(t.atom.divisor);
    collect_divisors(*t.atom.inner, axis, out);
  }
}

Index replaced(const Index& index, const Axis& axis, const Index& by) {
  return index.substitute([&](const Axis& a) { return a == axis ? by : Index(a); }).recombine();
}

// The largest of them that divides the axis; nullopt: there is none.
std::optional<Dim> divisor_of(const Positions& positions, const Axis& axis) {
  if (axis.extent.is_concrete()) return std::nullopt;
  Dims divisors;
  for (const Index& i : positions.at) collect_divisors(i, axis, divisors);
  for (const Index& i : positions.domain) collect_divisors(i, axis, divisors);
  std::optional<Dim> best;
  for (const Dim& d : divisors)
    if (!(d == axis.extent) && Dim::exact_quotient(axis.extent, d) &&
        (!best || Dim::exact_quotient(d, *best)))
      best = d;
  return best;
}

}  // namespace

Positions unfuse(Positions positions) {
  int next = -1000;  // no nest has such an axis
  for (std::size_t k = 0; k < positions.axes.size();) {
    const Axis axis = positions.axes[k];
    const auto by = divisor_of(positions, axis);
    if (!by) {
      ++k;
      continue;
    }
    const Axis outer{.id = next--, .extent = *Dim::exact_quotient(axis.extent, *by)},
        inner{.id = next--, .extent = *by};
    const Index whole = *by * Index(outer) + Index(inner);
    for (Index& i : positions.at) i = replaced(i, axis, whole);
    for (Index& i : positions.domain) i = replaced(i, axis, whole);
    positions.axes[k] = outer;
    positions.axes.insert(positions.axes.begin() + static_cast<std::ptrdiff_t>(k) + 1, inner);
  }
  return positions;
}

bool is_inside(const Index& at, const Dim& extent) {
  if (at.is_inside(extent)) return true;
  const Positions parts = unfuse({.axes = at.axes(), .at = {at}});
  return parts.axes.size() > at.axes().size() && parts.at[0].is_inside(extent);
}

}  // namespace isomer::lower
