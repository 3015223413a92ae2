#include "cost/machine.h"

namespace isomer {

Machine::~Machine() = default;

std::optional<bool> Machine::is_blocked(const Graph& /*graph*/, const Inference& /*inference*/,
                                        NodeId /*convolution*/) const {
  return std::nullopt;
}

double Machine::reordered(const Graph& /*graph*/, const Inference& /*inference*/, NodeId /*node*/) const {
  return 0;
}

const Machine& unknown_machine() {
  static const Machine machine;
  return machine;
}

}  // namespace isomer
