// com.microsoft.FusedGemm: activation(Gemm(a, b, c)).
#include <algorithm>
#include <array>

#include "model/ops/shared/composition.h"

namespace isomer::ops {
namespace {

Definition define_fused_gemm(const Call& call) {
  Composition c(call);
  auto y =
      c.of("Gemm", {c.input(0), c.input(1), c.input(2)}, c.attributes({"alpha", "beta", "transA", "transB"}));
  const std::string kind = call.text("activation", "");
  constexpr std::array kKnown{"Relu", "Sigmoid",     "Tanh",     "LeakyRelu",
                              "Elu",  "HardSigmoid", "Softplus", "Softsign"};
  if (call.has_attribute("activation")) {
    if (std::ranges::find(kKnown, kind) == kKnown.end()) return opaque("activation " + kind);
    Attributes parameters;
    for (const auto& [given, meant] : {std::pair("activation_alpha", "alpha"), {"activation_beta", "beta"}})
      if (const Attribute::Value* value = call.attributes.find(given)) parameters.set(meant, *value);
    y = c.of(kind, {y}, std::move(parameters));
  }
  c.output(y);
  return std::move(c.f).finish();
}

}  // namespace

extern const Operator kMicrosoftFusedGemm{
    .name = "FusedGemm",
    .doc = "y = activation(alpha · a b + beta · c)",
    .define = define_fused_gemm,
    .domain = "com.microsoft",
    .least_inputs = 2,
    .most_inputs = 3,
};

}  // namespace isomer::ops
