// Reshape: the same elements in row-major order under another shape. In the shape, 0 copies the input's
// extent (unless allowzero) and -1 is what remains.
//
// A symbolic extent in the shape stands for itself, but where it is 0 the input's is copied, unless
// allowzero: the formula is exact where that makes no difference.
#include "model/ops/reshape.h"

#include <algorithm>
#include <span>
#include <utility>

#include "model/ops/shared/define.h"

namespace isomer {

namespace {

// The shortest beginnings of both lists with equal products; all of both if none are seen.
std::pair<std::size_t, std::size_t> aligned(std::span<const Dim> from, std::span<const Dim> to) {
  Dim left = 1;
  for (std::size_t i = 0; i < from.size(); ++i) {
    left = left * from[i];
    Dim right = 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      right = right * to[j];
      if (left == right) return {i + 1, j + 1};
    }
  }
  return {from.size(), to.size()};
}

// The axes of extents other than 1: the others hold index 0 and align with nothing.
struct LongerAxes {
  Dims extents;
  std::vector<std::size_t> axes;
  explicit LongerAxes(const Dims& shape) {
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (!shape[i].is(1)) extents.push_back(shape[i]), axes.push_back(i);
  }
};

}  // namespace

std::vector<Index> reshaped_position(const Dims& from, const Dims& to, const std::vector<Axis>& p) {
  std::vector<Index> at(from.size());
  if (product(from).is(0)) return at;
  const LongerAxes inner(from), outer(to);
  std::size_t i_end = inner.axes.size(), j_end = outer.axes.size();
  for (; i_end > 0 && j_end > 0 && inner.extents[i_end - 1] == outer.extents[j_end - 1]; --i_end, --j_end)
    at[inner.axes[i_end - 1]] = p[outer.axes[j_end - 1]];
  for (std::size_t i = 0, j = 0; i < i_end;) {
    const auto [m, n] = aligned(std::span(inner.extents).subspan(i, i_end - i),
                                std::span(outer.extents).subspan(j, j_end - j));
    std::vector<Index> position;
    for (std::size_t k = j; k < j + n; ++k) position.emplace_back(p[outer.axes[k]]);
    const auto group = [](const Dims& extents, std::size_t first, std::size_t count) {
      return Dims(extents.begin() + static_cast<std::ptrdiff_t>(first),
                  extents.begin() + static_cast<std::ptrdiff_t>(first + count));
    };
    const Dims digits = group(inner.extents, i, m);
    const Index linear = linearize(position, group(outer.extents, j, n));
    std::vector<Index> indices = delinearize(linear, digits);
    indices[0] =
        Index::floor(linear, product(Dims(digits.begin() + 1, digits.end())));  // nothing is above it
    for (std::size_t k = 0; k < m; ++k) at[inner.axes[i + k]] = indices[k];
    i += m, j += n;
  }
  return at;
}

namespace ops {
namespace {

// The condition if `to` has an extent at place i that may be 0, where the input's would be copied.
void need_no_copy(const Call& call, const Dims& from, const Dims& to, std::size_t i) {
  const Dim& extent = to[i];
  if (i >= from.size()) {
    call.need(extent - Dim(1));  // there is nothing to copy
    return;
  }
  Dims copied = to;
  copied[i] = from[i];
  const Dim count = product(copied);
  const bool vanishes = Dim::exact_quotient(product(from), extent).has_value();
  // With nothing to reshape, the copy must not make something of it, or else it fails.
  if (vanishes) call.need(count * (extent - Dim(1)));
  call.exact_if(vanishes ? extent + count - Dim(1) : extent - Dim(1));
}

// Places of symbolic extents that may be 0 where what would be copied instead is not 0, too.
std::vector<std::size_t> doubtful(const Dims& from, const Dims& to) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i].is_concrete() || to[i].at_least(1) == true) continue;
    if (i < from.size() && Dim::exact_quotient(from[i], to[i])) continue;
    out.push_back(i);
  }
  return out;
}

std::variant<Dims, Definition> target_shape(const Call& call) {
  const auto& requested = call.in(1).integers;
  if (!requested) return opaque("the shape input is not known");
  const Dims& from = call.shape(0);
  const bool copies = !call.flag("allowzero", false);
  Dims to, left = from;  // left: what the known extents have not used up
  std::optional<std::size_t> open;
  Dim known = 1;
  for (std::size_t i = 0; i < requested->size(); ++i) {
    const Dim& extent = (*requested)[i];
    to.push_back(extent);
    if (extent.is(-1)) {
      if (open) return invalid("more than one extent is -1");
      open = i;
      continue;
    }
    if (extent.at_least(0) == false) return invalid("an extent is negative");
    if (extent.at_least(0) != true) return opaque("the sign of a requested extent is not known");
    if (extent.is(0) && copies) {
      if (i >= from.size()) return invalid("an extent of 0 copies an axis that the input doesn't have");
      to.back() = from[i];
    }
    if (const auto same = std::ranges::find(left, to.back()); same != left.end()) left.erase(same);
    else known = known * to.back();
  }
  const Dim rest = product(left);
  if (open) {
    if (std::ranges::any_of(to, [](const Dim& extent) { return extent.is(0); }))
      return opaque("-1 beside an extent of 0");
    const auto quotient = Dim::exact_quotient(rest, known);
    if (!quotient && rest.is_concrete() && known.is_concrete())
      return invalid("the elements do not fill the requested shape");
    to[*open] = 1;
    const auto places = copies ? doubtful(from, to) : std::vector<std::size_t>{};
    for (std::size_t i = 0; i < to.size(); ++i) {
      const bool is_doubtful = std::ranges::find(places, i) != places.end();
      // Beside -1 nothing may be 0.
      if (is_doubtful && i < from.size()) call.exact_if(to[i] - Dim(1));
      else call.need(to[i] - Dim(1));
    }
    to[*open] = quotient ? *quotient : Dim::floor(rest, known);
    if (!quotient && !call.may_equal(known * to[*open], rest))
      return invalid("the elements do not fill the requested shape");
    return to;
  }
  const Dim before = product(from), after = product(to);
  const auto places = copies ? doubtful(from, to) : std::vector<std::size_t>{};
  if (places.size() == 1) need_no_copy(call, from, to, places[0]);
  else
    for (const std::size_t i : places) call.exact_if(to[i] - Dim(1));
  Dim unless_copied = 1;  // 0 where an extent is copied: then the counts say nothing
  for (const std::size_t i : places) unless_copied = unless_copied * to[i];
  if (before.equals(after) == false && places.empty())
    return invalid("the requested shape has another number of elements");
  if (before.equals(after) != true) (void)call.may_equal(unless_copied * before, unless_copied * after);
  return to;
}

Definition define_reshape(const Call& call) {
  const auto target = target_shape(call);
  if (const auto* refused = std::get_if<Definition>(&target)) return *refused;
  const Dims& to = std::get<Dims>(target);
  auto f = call.formula();
  const auto x = f.input(0);
  const auto p = f.axes(to);
  f.output(p, x.at(reshaped_position(x.shape(), to, p)));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kReshape{
    .name = "Reshape",
    .doc = "y has the elements of x, in the same order, under another shape",
    .define = define_reshape,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace ops
}  // namespace isomer
