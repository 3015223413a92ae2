// The machine on which something was measured.
#pragma once

#include <string>

namespace isomer {

struct MachineName {
  std::string cpu;  // the model's name
  std::string isa;  // the vector instructions that kernels are chosen by
};

const MachineName& this_machine();

// A digest of the program that runs, or of the library that this is in, to the byte.
const std::string& this_program();

}  // namespace isomer
