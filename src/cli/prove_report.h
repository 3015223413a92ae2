// What `isomer prove` found, and how it is told.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "equate/constant_difference.h"
#include "equate/prove_models.h"

namespace isomer::cli {

struct ProveAnswer {
  ModelsVerdict verdict;
  std::vector<ConstantDifference> constants = {};  // under one name, and not equal
  bool is_said = false;                            // the constants, to who looks at the terminal
  bool is_by_certificate = false;                  // that lies beside the second model, checked again
  std::string sizes = {};                          // that it is true at; "": all
  std::string saved = {};                          // where the refuting input is; or ""
};

std::string plain_headline(const ProveAnswer& answer);  // one line, no colour
std::string to_text(const ProveAnswer& answer, bool is_verbose);
Json to_json(const ProveAnswer& answer, double ms);

}  // namespace isomer::cli
