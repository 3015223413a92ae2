#include "cli/operators_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>

#include "isomer/isomer.h"

namespace isomer::cli {

void add_operators_option(CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--operators",
          [](const std::string& path) {
            std::ifstream in(path, std::ios::binary);
            if (!in) throw CLI::ValidationError("--operators", "can't read " + path);
            const std::string text{std::istreambuf_iterator<char>(in), {}};
            try {
              api::declare_operators(text);
            } catch (const api::Error& e) {
              throw CLI::ValidationError("--operators", fmt::format("{}: {}", path, e.what()));
            }
          },
          "Shapes and formulas of operators of your own domains, as text (default: none)")
      ->type_name("FILE");
}

}  // namespace isomer::cli
