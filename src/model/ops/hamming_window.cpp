// HammingWindow: 25/46 - 21/46 · cos(2πi / n).
#include "model/ops/shared/window_function.h"

namespace isomer::ops {

extern const Operator kHammingWindow{
    .name = "HammingWindow",
    .doc = "y = 25/46 - 21/46 · cos(2πi / n)",
    .define = [](const Call& call) { return define_window_function(call, 25.0 / 46, 21.0 / 46, 0); },
    .since = 17,
    .most_inputs = 1,
};

}  // namespace isomer::ops
