// Shared by RNN, GRU and LSTM: a sequence X [steps, batch, input], weights W [directions, gates · hidden,
// input] and R [directions, gates · hidden, hidden], biases B [directions, 2 · gates · hidden], and states
// [batch, hidden] that go from step to step. Each step has its own stages, so that their number has to be
// known, and small.
#pragma once

#include <string_view>
#include <vector>

#include "model/ops/shared/define.h"

namespace isomer::ops {

class Recurrent {
 public:
  using Tensor = FormulaBuilder::Tensor;

  // One step in one direction, and the states before it.
  struct Step {
    int direction = 0;
    std::int64_t time = 0;
    std::vector<Tensor> states;  // the first is the one that the outputs contain
  };

  // Throws OpaqueCall, IllegalCall. `activations` are those that the operator has by default.
  Recurrent(const Call& call, int gates, int states, const std::vector<std::string_view>& activations);

  int directions() const { return directions_; }
  const Dim& hidden() const { return hidden_; }
  std::vector<Axis> state_axes() { return f_.axes({batch_, hidden_}); }
  // x W' + bias and h R' + bias of one gate, at a position of state_axes.
  Expr of_input(const Step& step, int gate, const std::vector<Axis>& at);
  Expr of_state(const Step& step, const Tensor& h, int gate, const std::vector<Axis>& at);
  // Both, as a stage.
  Tensor gate(const Step& step, int gate);
  FormulaBuilder& builder() { return f_; }

  // All steps; `after` gives the states behind a step. The outputs are the first state at all times, and each
  // state at the end.
  template <class After>
  Formula finish(const After& after) {
    for (int d = 0; d < directions_; ++d) {
      Step step{.direction = d, .time = 0, .states = initial(d)};
      for (std::int64_t s = 0; s < steps_; ++s) {
        step.time = is_reversed(d) ? steps_ - 1 - s : s;
        step.states = after(step);
        note(step);
      }
    }
    return with_outputs();
  }

 private:
  Expr bias(int direction, int gate, bool of_state, const Axis& j) const;
  bool is_reversed(int direction) const { return is_reversed_ || direction == 1; }
  std::vector<Tensor> initial(int direction);
  void note(const Step& step);
  Formula with_outputs();
  Index row(int gate, const Axis& j) const { return Index(Dim(gate) * hidden_) + Index(j); }

  const Call& call_;
  int gates_, states_, directions_ = 1;
  bool is_reversed_ = false;
  std::int64_t steps_ = 0;
  Dim batch_, hidden_;
  FormulaBuilder f_;
  std::vector<std::vector<Tensor>> told_;  // by direction and time: the first state
  std::vector<std::vector<Tensor>> last_;  // by direction: all states
};

}  // namespace isomer::ops
