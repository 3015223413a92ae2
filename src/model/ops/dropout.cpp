// Dropout in inference: y = x, and the mask says that everything is kept. Training makes it random, so it is
// opaque unless the mode is known to be off. Before opset 12 there is no mode, and what the mask holds is not
// said.
#include "model/ops/shared/define.h"

namespace isomer::ops {
namespace {

Definition define_dropout(const Call& call) {
  if (call.opset >= 12 && call.has(2)) {
    const auto& mode = call.in(2).integers;
    if (!mode || mode->size() != 1 || !mode->front().is_concrete())
      return opaque("training_mode is not known");
    if (!mode->front().is(0)) return opaque("training_mode is on");
  }
  if (call.opset < 12 && call.output_count > 1) return opaque("the mask before opset 12");
  auto f = call.formula();
  const auto x = f.input(0);
  const auto p = f.axes(x.shape());
  f.output(p, x.at(to_indices(p)));
  if (call.output_count > 1) {
    const auto q = f.axes(x.shape());
    f.output(q, integer(ElementType::Bool, 1));
  }
  return std::move(f).finish();
}

}  // namespace

extern const Operator kDropout{
    .name = "Dropout",
    .doc = "y = x, in inference",
    .define = define_dropout,
    .since = 7,
    .most_inputs = 3,
};

}  // namespace isomer::ops
