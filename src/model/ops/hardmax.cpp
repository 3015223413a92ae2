// Hardmax: 1 at the first place of the largest element along an axis, 0 elsewhere.
#include "model/ops/softmax.h"

namespace isomer::ops {
namespace {

Definition define_hardmax(const Call& call) {
  const ReducedAxes over = read_softmax_axes(call);
  auto f = call.formula();
  const auto x = f.input(0);
  const auto largest =
      reduce_stage(f, over, Reduction::Max, [&](const std::vector<Index>& at) { return x.at(at); });
  // Where a position lies among the elements that one maximum is taken of, in row-major order.
  const auto place = [&](const std::vector<Index>& at) {
    return index_number(linearize(over.reduced_part(at), over.extents()));
  };
  const auto first = reduce_stage(f, over, Reduction::Min, [&](const std::vector<Index>& at) {
    const Expr is_largest = apply(Fn::Equal, {x.at(at), largest.at(over.squash(at))});
    return where(is_largest, place(at), over.count(ElementType::Int64));
  });
  const auto p = f.axes(x.shape());
  const Expr is_first = apply(Fn::Equal, {place(to_indices(p)), first.at(over.squash(to_indices(p)))});
  f.output(p, where(is_first, number(x.type(), 1), number(x.type(), 0)));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kHardmax{
    .name = "Hardmax",
    .doc = "y = 1 at the first largest element along an axis, else 0",
    .define = define_hardmax,
    .most_inputs = 1,
};

}  // namespace isomer::ops
