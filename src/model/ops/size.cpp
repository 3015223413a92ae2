#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_size(const Call& call) {
  auto f = call.formula();
  f.output({}, index_number(Index(product(call.shape(0)))));
  return std::move(f).finish();
}

}  // namespace

extern const Operator kSize{
    .name = "Size",
    .doc = "y = how many elements x has",
    .define = define_size,
    .most_inputs = 1,
};

}  // namespace isomer::ops
