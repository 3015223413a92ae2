// The result of `isomer compile` as text.
#pragma once

#include <filesystem>
#include <string>

#include "cli/command.h"

namespace isomer::cli {

// Text for the JSON that the library gives. `in`: the model; `name`: --name; `as_operator`: --as custom-op.
struct CompileWords {
  std::filesystem::path in, folder;
  std::string name;
  bool as_operator = false;
};
std::string compile_text(const Json& report, const CompileWords& words);

}  // namespace isomer::cli
