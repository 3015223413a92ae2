// RNN: h = tanh(x W' + h R' + biases), step by step.
#include "model/ops/shared/recurrent.h"

namespace isomer::ops {

extern const Operator kRNN{
    .name = "RNN",
    .doc = "h = tanh(x W' + h R' + biases), step by step along a sequence",
    .define = [](const Call& call) -> Definition {
      Recurrent r(call, 1, 1, {"Tanh"});
      return r.finish([&](const Recurrent::Step& step) {
        const auto z = r.gates(step, 0, 1);
        const auto at = r.state_axes();
        return std::vector{r.builder().stage(at, apply(Fn::Tanh, {z(0, at)}))};
      });
    },
    .since = 7,
    .least_inputs = 3,
    .most_inputs = 6,
};

}  // namespace isomer::ops
