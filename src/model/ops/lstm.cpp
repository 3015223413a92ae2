// LSTM: gates i, o, f and candidates g of the input and the last h; c = f · c + i · g, h = o · tanh c.
// Peepholes P let i and f see the last c, and o the new one.
#include "model/ops/shared/recurrent.h"

namespace isomer::ops {
namespace {

constexpr int kPeepholes = 7;
enum Gate : std::uint8_t { kI, kO, kF, kG };  // rows of W and R, and for all but g of P

Definition define_lstm(const Call& call) {
  Recurrent r(call, 4, 2, {"Sigmoid", "Tanh", "Tanh"});
  FormulaBuilder& f = r.builder();
  if (call.has(kPeepholes) && call.shape(kPeepholes) != Dims{r.directions(), Dim(3) * r.hidden()})
    return opaque("peepholes of another shape");
  return r.finish([&](const Recurrent::Step& step) {
    const auto gates = r.gates(step, kI, 4);
    const auto seen = [&](Gate gate, const Expr& c, const std::vector<Axis>& at) {
      Expr value = gates(gate, at);
      if (!call.has(kPeepholes)) return value;
      const Index column = Index(Dim(static_cast<int>(gate)) * r.hidden()) + Index(at[1]);
      return value + f.input(kPeepholes)(step.direction, column) * c;
    };
    const auto p = r.state_axes(), q = r.state_axes();
    const Expr before = step.states[1](p[0], p[1]);
    const auto c =
        f.stage(p, apply(Fn::Sigmoid, {seen(kF, before, p)}) * before +
                       apply(Fn::Sigmoid, {seen(kI, before, p)}) * apply(Fn::Tanh, {gates(kG, p)}));
    const Expr now = c(q[0], q[1]);
    const auto h = f.stage(q, apply(Fn::Sigmoid, {seen(kO, now, q)}) * apply(Fn::Tanh, {now}));
    return std::vector{h, c};
  });
}

}  // namespace

extern const Operator kLSTM{
    .name = "LSTM",
    .doc = "c = f · c + i · g, h = o · tanh c, step by step along a sequence",
    .define = define_lstm,
    .since = 7,
    .least_inputs = 3,
    .most_inputs = 8,
};

}  // namespace isomer::ops
