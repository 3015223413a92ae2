// Compress, with a known condition: the elements along an axis (or of all in a row) at which it is true.
#include "model/ops/shared/look_up.h"

namespace isomer::ops {
namespace {

constexpr std::size_t kLargestTable = 64;  // of positions that are in no equal steps

Definition define_compress(const Call& call) {
  const auto known = call.in(1).integers ? concrete(*call.in(1).integers) : std::nullopt;
  if (!known) return opaque("the condition is not known");
  auto f = call.formula();
  const auto x = f.input(0);
  const bool flat = !call.has_attribute("axis");
  const auto axis = normalize_axis(call.integer("axis", 0), std::max(call.rank(0), 1));
  if (!axis) return invalid("axis is outside of the input's rank", "axis");
  const auto a = static_cast<std::size_t>(flat ? 0 : *axis);
  Dims chosen;
  for (std::size_t i = 0; i < known->size(); ++i)
    if ((*known)[i] != 0) chosen.emplace_back(static_cast<std::int64_t>(i));
  const auto count = static_cast<std::int64_t>(chosen.size());
  // A condition may be longer than the axis: what it says there counts for nothing.
  if (!chosen.empty()) call.exact_if((flat ? product(x.shape()) : x.shape()[a]) - chosen.back() - Dim(1));
  Dims shape = flat ? Dims{0} : x.shape();
  shape[a] = count;
  const auto p = f.axes(shape);
  const auto at = [&](const Index& i) {
    if (flat) return x.at(delinearize(i, x.shape()));
    auto position = to_indices(p);
    position[a] = i;
    return x.at(position);
  };
  if (const auto affine = as_progression(chosen, {count}, {p[a]})) {
    f.output(p, at(*affine));
    return std::move(f).finish();
  }
  if (chosen.size() > kLargestTable)
    return opaque("a condition that chooses many elements in no equal steps");
  std::vector<Expr> reads;
  for (const Dim& i : chosen) reads.push_back(at(Index(i)));
  f.output(p, tabulate(p[a], reads));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kCompress{
    .name = "Compress",
    .doc = "y = the elements along an axis at which the condition is true",
    .define = define_compress,
    .since = 9,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
