// The result of `isomer prove` as text.
#pragma once

#include <string>

#include "cli/command.h"

namespace isomer::cli {

std::string plain_headline(const Json& report);  // one line, no colour
// is_said: the constants are already on the terminal.
std::string prove_text(const Json& report, bool is_verbose, bool is_said);
bool has_example(const Json& report);  // an input on which the models differ

}  // namespace isomer::cli
