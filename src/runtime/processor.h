// The processor that measurements are true on, and the program that made them.
#pragma once

#include <string>

namespace isomer {

struct Processor {
  std::string name;  // with its family, model and stepping
  std::string isa;  // the vector instructions that kernels are chosen by
};

const Processor& this_processor();

// A digest of the program that runs, to the byte.
const std::string& this_program();

}  // namespace isomer
