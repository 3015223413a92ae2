// DrawnCase: one legal call of an operator with tensors to run it on, drawn by the operator's own sampler.
// Case n of an operator is the same on every machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/ops/operator.h"

namespace isomer::contract {

constexpr int kOldestOpset = 7;   // of the standard domain: what models in use import
constexpr int kNewestOpset = 28;  // of onnx 1.23

using Inputs = std::vector<std::optional<Tensor>>;

struct DrawnCase {
  const Operator* op = nullptr;
  int number = 0;
  Call call;
  Inputs inputs;
  std::vector<bool> is_constant;  // per input: known when the call is defined, an initializer in a model

  // "Conv, case 17, opset 13: float[1, 2, 5], float[2, 2, 3]; group=1": enough to find it again.
  std::string text() const;
};

DrawnCase draw_case(const Operator& op, int number);

// What is known of an input when the call is defined.
Call::Input describe(const Tensor& value, bool is_constant);

}  // namespace isomer::contract
