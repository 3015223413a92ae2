// Split: an axis cut into one piece per output. The lengths are given (an attribute before opset 13, an input
// since), or equal; since opset 18 the last of num_outputs pieces may be shorter.
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

std::variant<Dims, Definition> read_lengths(const Call& call, const Dim& extent) {
  const auto list = integer_list(call, "split", 1, 13);
  const auto count = static_cast<std::size_t>(call.output_count);
  if (list.given) {
    if (!list.values) return opaque("the lengths are not known");
    if (list.values->size() != count) return invalid("there is not one length per output", "split");
    Dim total = 0;
    for (const Dim& length : *list.values) {
      if (length.at_least(0) == false) return invalid("a length is negative", "split");
      call.need(length);
      total = total + length;
    }
    if (!call.may_equal(total, extent))
      return invalid("the lengths do not add up to the axis's extent", "split");
    return *list.values;
  }
  const Dim pieces = call.output_count;
  if (call.opset < 18) {
    if (!call.may_equal(Dim::mod(extent, pieces), 0))
      return invalid("the axis can't be split into equal parts", "split");
    return Dims(count, Dim::floor(extent, pieces));
  }
  if (call.integer("num_outputs", call.output_count) != call.output_count)
    return invalid("num_outputs is not the number of outputs", "num_outputs");
  Dims lengths(count, Dim::ceil(extent, pieces));
  lengths.back() = extent - Dim(call.output_count - 1) * lengths.back();
  if (lengths.back().at_least(0) == false) return opaque("the last piece would be shorter than nothing");
  call.runs_if(lengths.back() - Dim(1));  // the runtime refuses more pieces than there are elements
  return lengths;
}

Definition define_split(const Call& call) {
  const auto axis = normalize_axis(call.integer("axis", 0), call.rank(0));
  if (!axis) return invalid("axis is outside of the input's rank", "axis");
  if (call.output_count < 1) return invalid("Split has no outputs");
  auto f = call.formula();
  const auto x = f.input(0);
  const auto lengths = read_lengths(call, x.extent(*axis));
  if (const auto* refused = std::get_if<Definition>(&lengths)) return *refused;
  Dim start = 0;
  for (const Dim& length : std::get<Dims>(lengths)) {
    Dims shape = x.shape();
    shape[static_cast<std::size_t>(*axis)] = length;
    const auto p = f.axes(shape);
    std::vector<Index> at = to_indices(p);
    at[static_cast<std::size_t>(*axis)] = at[static_cast<std::size_t>(*axis)] + Index(start);
    f.output(p, x.at(at));
    start = start + length;
  }
  return std::move(f).finish();
}

}  // namespace

extern const Operator kSplit{
    .name = "Split",
    .doc = "y_k = the k-th piece of x along an axis",
    .define = define_split,
    .most_inputs = 2,
};

}  // namespace isomer::ops
