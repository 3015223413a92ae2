#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_cast_like(const Call& call) {
  auto f = call.formula();
  const auto x = f.input(0);
  const auto p = f.axes(x.shape());
  f.output(p, cast(x.at(to_indices(p)), call.type(1)));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kCastLike{
    .name = "CastLike",
    .doc = "y = x in the type of the second input",
    .define = define_cast_like,
    .since = 15,
    .least_inputs = 2,
    .most_inputs = 2,
};

}  // namespace isomer::ops
