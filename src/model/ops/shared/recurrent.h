// Shared by RNN, GRU and LSTM: a sequence X [steps, batch, input], weights W [directions, gates · hidden,
// input] and R [directions, gates · hidden, hidden], biases B [directions, 2 · gates · hidden], and states
// [batch, hidden] that go from step to step. The product with W is one stage for all steps. Each step has its
// own stages, so the number of steps has to be known, and small.
#pragma once

#include <string_view>
#include <utility>
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
  // x W' + bias of one gate, at a position of state_axes.
  Expr of_input(const Step& step, int gate, const std::vector<Axis>& at) const;
  // h R' + bias of gates that follow each other, with x W' + bias or without.
  class Gates;
  Gates gates(const Step& step, int first, int count);
  Gates of_state(const Step& step, const Tensor& h, int first, int count);
  FormulaBuilder& builder() { return f_; }

  // All steps; `after` gives the states behind a step. The outputs are the first state at all times, and each
  // state at the end.
  template <class After>
  Formula finish(const After& after) {
    for (int d = 0; d < directions_; ++d) {
      multiply_inputs(d);
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
  void multiply_inputs(int direction);
  Gates multiply_state(const Step& step, const Tensor& h, int first, int count, bool with_input);
  bool is_reversed(int direction) const { return is_reversed_ || direction == 1; }
  std::vector<Tensor> initial(int direction);
  void note(const Step& step);
  Formula with_outputs();
  Index row(int gate, const Index& j) const { return Index(Dim(gate) * hidden_) + j; }

  const Call& call_;
  int gates_, states_, directions_ = 1;
  bool is_reversed_ = false;
  std::int64_t steps_ = 0;
  Dim batch_, hidden_;
  FormulaBuilder f_;
  std::vector<Tensor> inputs_;             // by direction: x W' + bias [steps, batch, gates · hidden]
  std::vector<std::vector<Tensor>> told_;  // by direction and time: the first state
  std::vector<std::vector<Tensor>> last_;  // by direction: all states
};

// Gates side by side in one stage [batch, count · hidden].
class Recurrent::Gates {
 public:
  Gates(Tensor all, int first, Dim hidden)
      : all_(std::move(all)), first_(first), hidden_(std::move(hidden)) {}
  // The value of one gate, at a position of state_axes.
  Expr operator()(int gate, const std::vector<Axis>& at) const {
    return all_(at[0], Index(Dim(gate - first_) * hidden_) + Index(at[1]));
  }

 private:
  Tensor all_;
  int first_;
  Dim hidden_;
};

}  // namespace isomer::ops
