// A few small models, each with an honest certificate, that check in milliseconds.
#pragma once

#include <string>
#include <vector>

#include "kernel/certify/certificate.h"

namespace isomer::checker {

struct Case {
  std::string name;
  Graph in, out;
  Certificate certificate;
  bool runs = true;  // on a runtime: no body that only we have
};

std::vector<Case> all_cases();

}  // namespace isomer::checker
