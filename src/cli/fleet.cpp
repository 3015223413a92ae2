// isomer fleet: the same work on many machines. It is in the Python package, and this command says so.
#include <CLI/CLI.hpp>

#include "cli/command.h"

namespace isomer::cli {

void add_fleet(CLI::App& app, Chosen& chosen) {
  CLI::App* command =
      app.add_subcommand("fleet", "The same work on many machines (with the Python package's extra [fleet])");
  command->prefix_command();
  command->callback([&chosen] {
    chosen.run = []() -> Result<Reply> {
      return Error{
          "isomer fleet is the Python package's: pip install 'isomer-onnx[fleet]', and use the isomer that "
          "it "
          "installs (docs/guides/fleet.md)"};
    };
  });
}

}  // namespace isomer::cli
