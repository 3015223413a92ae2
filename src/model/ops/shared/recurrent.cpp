#include "model/ops/shared/recurrent.h"

namespace isomer::ops {
namespace {

constexpr int kX = 0, kW = 1, kR = 2, kB = 3, kLengths = 4, kInitial = 5;  // inputs
// The normal form of a state that is carried along grows with every step.
constexpr std::int64_t kMostSteps = 32;

Dim extent(const Call& call, int input, int axis) {
  return call.shape(input)[static_cast<std::size_t>(axis)];
}

void require_shape(const Call& call, int input, const Dims& shape) {
  if (!call.has(input)) return;
  if (call.rank(input) != static_cast<int>(shape.size()))
    throw IllegalCall("an input of a recurrent operator has another rank");
  for (int k = 0; k < call.rank(input); ++k) {
    const auto same = extent(call, input, k).equals(shape[static_cast<std::size_t>(k)]);
    if (same == false) throw IllegalCall("the inputs of a recurrent operator do not fit together");
    if (!same) throw OpaqueCall("whether the inputs fit together is not known");
  }
}

// The defaults, for each direction.
void require_activations(const Call& call, const std::vector<std::string_view>& usual, int directions) {
  for (const char* name : {"activation_alpha", "activation_beta", "clip", "input_forget"})
    if (call.has_attribute(name)) throw OpaqueCall(std::string(name) + " is not modelled");
  if (!call.has_attribute("activations")) return;
  const auto* given = call.attributes.find_as<std::vector<std::string>>("activations");
  bool same = given != nullptr && given->size() == usual.size() * static_cast<std::size_t>(directions);
  for (std::size_t k = 0; same && k < given->size(); ++k) same = (*given)[k] == usual[k % usual.size()];
  if (!same) throw OpaqueCall("activations other than the usual ones are not modelled");
}

}  // namespace

Recurrent::Recurrent(const Call& call, int gates, int states,
                     const std::vector<std::string_view>& activations)
    : call_(call), gates_(gates), states_(states), f_(call.formula()) {
  for (int k = 0; k < call.input_count(); ++k)
    if (k != kLengths && call.has(k) && (call.type(k) != call.type(kX) || !is_float(call.type(k))))
      throw OpaqueCall("a recurrent operator of these types is not modelled");
  if (call.rank(kX) != 3 || call.rank(kW) != 3 || call.rank(kR) != 3)
    throw IllegalCall("X, W and R have three dimensions");
  if (call.flag("layout", false)) throw OpaqueCall("layout 1 is not modelled");
  if (call.flag("output_sequence", false)) throw OpaqueCall("output_sequence is not modelled");
  const std::string direction = call.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    throw IllegalCall("no such direction", "direction");
  directions_ = direction == "bidirectional" ? 2 : 1;
  is_reversed_ = direction == "reverse";
  require_activations(call, activations, directions_);
  const auto steps = extent(call, kX, 0).value();
  if (!steps) throw OpaqueCall("the number of steps is not known");
  if (*steps < 1 || *steps > kMostSteps) throw OpaqueCall("no steps, or too many to unroll");
  steps_ = *steps;
  batch_ = extent(call, kX, 1);
  hidden_ = extent(call, kR, 2);
  if (Dim(call.integer("hidden_size", -1)).equals(hidden_) != true)
    throw OpaqueCall("hidden_size is not what R says");
  const Dim rows = Dim(gates) * hidden_;
  require_shape(call, kW, {directions_, rows, extent(call, kX, 2)});
  require_shape(call, kR, {directions_, rows, hidden_});
  require_shape(call, kB, {directions_, Dim(2) * rows});
  for (int k = 0; k < states; ++k) require_shape(call, kInitial + k, {directions_, batch_, hidden_});
  require_shape(call, kLengths, {batch_});
  if (call.has(kLengths)) {
    const auto& lengths = call.in(kLengths).integers;
    if (!lengths) throw OpaqueCall("sequences of unknown lengths");
    for (const Dim& length : *lengths)
      if (!length.is(steps_)) throw OpaqueCall("sequences of different lengths");
  }
  told_.resize(static_cast<std::size_t>(directions_));
  for (auto& at : told_) at.resize(static_cast<std::size_t>(steps_));
}

void Recurrent::multiply_inputs(int direction) {
  const auto at = f_.axes({steps_, batch_, Dim(gates_) * hidden_});
  const Axis k = f_.axis(extent(call_, kX, 2));
  Expr y = sum({k}, f_.input(kX)(at[0], at[1], k) * f_.input(kW)(direction, at[2], k));
  if (call_.has(kB)) y = y + f_.input(kB)(direction, at[2]);
  inputs_.push_back(f_.stage(at, y));
}

Expr Recurrent::of_input(const Step& step, int gate, const std::vector<Axis>& at) const {
  return inputs_[static_cast<std::size_t>(step.direction)](step.time, at[0], row(gate, at[1]));
}

Recurrent::Gates Recurrent::multiply_state(const Step& step, const Tensor& h, int first, int count,
                                           bool with_input) {
  const auto at = f_.axes({batch_, Dim(count) * hidden_});
  const Axis k = f_.axis(hidden_);
  const Index of_all = row(first, at[1]);
  Expr y = sum({k}, h(at[0], k) * f_.input(kR)(step.direction, of_all, k));
  if (call_.has(kB)) y = y + f_.input(kB)(step.direction, row(gates_, of_all));
  if (with_input) y = inputs_[static_cast<std::size_t>(step.direction)](step.time, at[0], of_all) + y;
  return {f_.stage(at, y), first, hidden_};
}

Recurrent::Gates Recurrent::gates(const Step& step, int first, int count) {
  return multiply_state(step, step.states[0], first, count, true);
}

Recurrent::Gates Recurrent::of_state(const Step& step, const Tensor& h, int first, int count) {
  return multiply_state(step, h, first, count, false);
}

std::vector<Recurrent::Tensor> Recurrent::initial(int direction) {
  std::vector<Tensor> out;
  for (int k = 0; k < states_; ++k) {
    const auto at = state_axes();
    out.push_back(f_.stage(at, call_.has(kInitial + k) ? f_.input(kInitial + k)(direction, at[0], at[1])
                                                       : number(call_.type(kX), 0)));
  }
  return out;
}

void Recurrent::note(const Step& step) {
  const auto d = static_cast<std::size_t>(step.direction);
  told_[d][static_cast<std::size_t>(step.time)] = step.states[0];
  last_.resize(d + 1);
  last_[d] = step.states;
}

Formula Recurrent::with_outputs() {
  const auto p = f_.axes({steps_, directions_, batch_, hidden_});
  std::vector<Expr> by_direction;
  for (const auto& steps : told_) {
    std::vector<Expr> by_time;
    by_time.reserve(steps.size());
    for (const Tensor& h : steps) by_time.push_back(h(p[2], p[3]));
    by_direction.push_back(tabulate(p[0], by_time));
  }
  f_.output(p, tabulate(p[1], by_direction));
  for (int k = 0; k < states_ && k + 1 < call_.output_count; ++k) {
    const auto q = f_.axes({directions_, batch_, hidden_});
    std::vector<Expr> of_directions;
    of_directions.reserve(last_.size());
    for (const auto& states : last_) of_directions.push_back(states[static_cast<std::size_t>(k)](q[1], q[2]));
    f_.output(q, tabulate(q[0], of_directions));
  }
  return std::move(f_).finish();
}

}  // namespace isomer::ops
