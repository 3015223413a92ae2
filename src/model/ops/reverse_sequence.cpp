// ReverseSequence: the first lengths[b] elements of each batch entry b along the time axis, backwards; the
// rest as it is: y[t, b] = x[t < lengths[b] ? lengths[b] - 1 - t : t, b].
#include "model/ops/shared/look_up.h"

namespace isomer::ops {
namespace {

Definition define_reverse_sequence(const Call& call) {
  const std::int64_t time = call.integer("time_axis", 0), batch = call.integer("batch_axis", 1);
  if (time < 0 || batch < 0 || time > 1 || batch > 1 || time == batch || call.rank(0) < 2)
    return invalid("time and batch must be the first two axes", "time_axis");
  if (call.type(1) != ElementType::Int64 || call.rank(1) != 1)
    return invalid("lengths must be an int64 vector");
  if (!call.may_equal(call.shape(1)[0], call.shape(0)[static_cast<std::size_t>(batch)]))
    return invalid("there is not one length per batch entry");
  call.runs_if(-1);  // the lengths may be longer than the axis
  auto f = call.formula();
  const auto x = f.input(0), lengths = f.input(1);
  const auto p = f.axes(x.shape());
  const Expr t = index_number(p[static_cast<std::size_t>(time)]);
  const Expr length = lengths(p[static_cast<std::size_t>(batch)]);
  const Expr from = where(apply(Fn::Less, {t, length}), length - 1 - t, t);
  f.output(p, look_up(f, from, x.extent(static_cast<int>(time)), [&](const Index& v) {
             auto at = to_indices(p);
             at[static_cast<std::size_t>(time)] = v;
             return x.at(at);
           }));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kReverseSequence{
    .name = "ReverseSequence",
    .doc = "y[t, b] = x[t < lengths[b] ? lengths[b] - 1 - t : t, b]",
    .define = define_reverse_sequence,
    .since = 10,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
