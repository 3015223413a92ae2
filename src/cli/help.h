// Texts made from the commands' own descriptions, so that they agree: --help in 80 columns, suggestions for
// misspelled words, manual pages, shell completions.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class FormatterBase;
class ParseError;
}  // namespace CLI

namespace isomer::cli {

std::shared_ptr<CLI::FormatterBase> help_formatter();

// The fault in the arguments, with the most likely correction.
std::string complaint_about(const CLI::ParseError& error, const CLI::App& app,
                            const std::vector<std::string>& arguments);

// A manual page in roff: of the program, or of one command of it ("": the program). "": there is no
// such command.
std::string manual_page(const CLI::App& app, const std::string& command);

// A completion script for commands and options; the shell is bash, zsh or fish.
std::string completion_for(const CLI::App& app, const std::string& shell);

}  // namespace isomer::cli
