// The machine that measurements are true on.
#pragma once

#include <string>

namespace isomer {

struct Machine {
  std::string cpu;  // the model's name
  std::string isa;  // the vector instructions that kernels are chosen by
};

const Machine& this_machine();

}  // namespace isomer
