// BlackmanWindow: 0.42 - 0.5 · cos(2πi / n) + 0.08 · cos(4πi / n).
#include "model/ops/shared/window_function.h"

namespace isomer::ops {

extern const Operator kBlackmanWindow{
    .name = "BlackmanWindow",
    .doc = "y = 0.42 - 0.5 · cos(2πi / n) + 0.08 · cos(4πi / n)",
    .define = [](const Call& call) { return define_window_function(call, 0.42, 0.5, 0.08); },
    .since = 17,
    .most_inputs = 1,
};

}  // namespace isomer::ops
