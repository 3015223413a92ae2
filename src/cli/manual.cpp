// isomer man, isomer completion: the command line's own description, for the tools that want it.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/help.h"

namespace isomer::cli {
namespace {

Result<Reply> manual(const CLI::App& app, const std::string& command) {
  const std::string page = manual_page(app, command);
  if (page.empty()) return Error{"there is no command '" + command + "' (see isomer --help)"};
  return Reply{.exit = Exit::Done, .text = page, .json = {{"page", page}}};
}

}  // namespace

void add_manual(CLI::App& app, Chosen& chosen) {
  auto command = std::make_shared<std::string>(), shell = std::make_shared<std::string>("bash");
  CLI::App* man = app.add_subcommand("man", "Print a manual page: isomer man optimize | man -l -");
  man->add_option("COMMAND", *command, "The command to describe (default: isomer)")->type_name("");
  man->callback([&app, &chosen, command] { chosen.run = [&app, command] { return manual(app, *command); }; });

  CLI::App* completion = app.add_subcommand("completion", "Print a shell completion script");
  completion->add_option("SHELL", *shell, "bash, zsh or fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("")
      ->capture_default_str();
  completion->callback([&app, &chosen, shell] {
    chosen.run = [&app, shell]() -> Result<Reply> {
      const std::string text = completion_for(app, *shell);
      return Reply{.exit = Exit::Done, .text = text, .json = {{"completion", text}}};
    };
  });
}

}  // namespace isomer::cli
