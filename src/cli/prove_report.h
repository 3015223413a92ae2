// What `isomer prove` found, and how it is told.
#pragma once

#include <string>

#include "pipeline/equality.h"

namespace isomer::cli {

std::string plain_headline(const ProveAnswer& answer);  // one line, no colour
// is_said: the constants, to who looks at the terminal.
std::string to_text(const ProveAnswer& answer, bool is_verbose, bool is_said);

}  // namespace isomer::cli
