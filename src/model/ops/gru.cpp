// GRU: gates z (update) and r (reset), candidates n = tanh(x W' + r · (h R')); h = (1 - z) · n + z · h.
// Before the product with R the reset is applied to h, unless linear_before_reset.
#include "model/ops/shared/recurrent.h"

namespace isomer::ops {
namespace {

enum Gate : std::uint8_t { kZ, kR, kN };

Definition define_gru(const Call& call) {
  Recurrent r(call, 3, 1, {"Sigmoid", "Tanh"});
  FormulaBuilder& f = r.builder();
  const bool product_first = call.flag("linear_before_reset", false);
  return r.finish([&](const Recurrent::Step& step) {
    const auto& h = step.states[0];
    const auto sigmoid = [&](const Recurrent::Gates& gates, Gate gate) {
      const auto at = r.state_axes();
      Expr value = gates(gate, at);
      if (product_first) value = r.of_input(step, gate, at) + value;
      return f.stage(at, apply(Fn::Sigmoid, {value}));
    };
    // The candidates' product is of h, too, where it comes first.
    const auto gates = product_first ? r.of_state(step, h, kZ, 3) : r.gates(step, kZ, 2);
    const auto z = sigmoid(gates, kZ), reset = sigmoid(gates, kR);
    const auto p = r.state_axes(), q = r.state_axes(), at = r.state_axes();
    Expr kept;
    if (product_first) {
      kept = reset(q[0], q[1]) * gates(kN, q);
    } else {
      const auto rest = f.stage(p, reset(p[0], p[1]) * h(p[0], p[1]));
      kept = r.of_state(step, rest, kN, 1)(kN, q);
    }
    const auto n = f.stage(q, apply(Fn::Tanh, {r.of_input(step, kN, q) + kept}));
    const Expr update = z(at[0], at[1]);
    return std::vector{f.stage(at, (1.0 - update) * n(at[0], at[1]) + update * h(at[0], at[1]))};
  });
}

}  // namespace

extern const Operator kGRU{
    .name = "GRU",
    .doc = "h = (1 - z) · n + z · h, step by step along a sequence",
    .define = define_gru,
    .since = 7,
    .least_inputs = 3,
    .most_inputs = 6,
};

}  // namespace isomer::ops
