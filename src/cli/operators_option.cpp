#include "cli/operators_option.h"

#include <CLI/CLI.hpp>
#include <fstream>

namespace isomer::cli {

void add_operators_option(CLI::App& command, std::string& text) {
  command
      .add_option_function<std::string>(
          "--operators",
          [&text](const std::string& path) {
            std::ifstream in(path, std::ios::binary);
            if (!in) throw CLI::ValidationError("--operators", "can't read " + path);
            text.assign(std::istreambuf_iterator<char>(in), {});
          },
          "Definitions of custom operators, as text (docs/guides/custom-operator.md) (default: none)")
      ->type_name("FILE");
}

}  // namespace isomer::cli
