// com.microsoft.Gelu: x/2 · (1 + erf(x/√2)), as ONNX Runtime's optimizer fuses it.
#include "model/ops/gelu.h"

namespace isomer::ops {

extern const Operator kMicrosoftGelu{
    .name = "Gelu",
    .doc = "y = x/2 · (1 + erf(x/√2))",
    .define =
        [](const Call& call) {
          return elementwise(call, [](const std::vector<Expr>& x) { return gelu(x[0]); }, is_float);
        },
    .domain = "com.microsoft",
    .most_inputs = 1,
};

}  // namespace isomer::ops
