#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/nearest_word.h"
#include "cli/removed_options.h"
#include "cli/wording.h"

namespace isomer::cli {
namespace {

constexpr std::size_t kColumns = 80, kLeftColumn = 26;

// One option or argument, for all of these texts.
struct Entry {
  std::string names;  // "-o,--output"; of an argument its name
  std::string type;   // "OUT"; "" for a flag
  std::string about;  // with its default
  bool is_argument = false, is_required = false, is_list = false;
  std::string spell() const { return type.empty() ? names : names + " " + type; }
};

std::string with_default(const CLI::Option& option) {
  std::string about = option.get_description();
  std::string value = option.get_default_str();
  if (value.starts_with('[') && value.ends_with(']')) value = value.substr(1, value.size() - 2);
  if (!value.empty()) about += fmt::format(" (default: {})", value);
  if (option.get_required() && !option.get_positional()) about += " (required)";
  return about;
}

std::vector<Entry> entries_of(const CLI::App& app) {
  std::vector<Entry> out;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    Entry entry;
    entry.is_argument = option->get_positional();
    entry.is_required = option->get_required();
    entry.is_list = option->get_items_expected_max() > 1;
    entry.names = option->get_name(entry.is_argument, !entry.is_argument);
    // CLI11 appends what is checked; the description says it in words.
    if (!entry.is_argument && option->get_items_expected_max() > 0) {
      entry.type = option->get_type_name();
      entry.type = entry.type.substr(0, entry.type.find(':'));
    }
    entry.about = with_default(*option);
    out.push_back(std::move(entry));
  }
  return out;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_name().empty(); });
}

std::string row(const std::string& left, const std::string& right) {
  std::string line = "  " + left;
  if (width(line) + 2 > kLeftColumn) line += '\n' + std::string(kLeftColumn, ' ');
  else line += std::string(kLeftColumn - width(line), ' ');
  return line + wrapped(right, kColumns, kLeftColumn, kLeftColumn) + '\n';
}

// "isomer optimize [OPTIONS] IN -o OUT"
std::string usage(const CLI::App& app, const std::string& name) {
  std::string line = name;
  if (!commands_of(app).empty()) line += " COMMAND";
  for (const Entry& e : entries_of(app)) {
    const std::string argument = e.names + (e.is_list ? "..." : "");
    if (e.is_argument) line += e.is_required ? " " + argument : " [" + argument + "]";
    else if (e.is_required) line += " " + e.names.substr(0, e.names.find(',')) + " " + e.type;
  }
  return line + " [OPTIONS]";
}

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const override {
    std::string full = name;
    if (full.empty()) {
      full = app->get_name();
      for (const CLI::App* at = app->get_parent(); at; at = at->get_parent())
        full = fmt::format("{} {}", at->get_name(), full);
    }
    std::string text = wrapped(app->get_description(), kColumns, 0) +
                       "\n\nUsage: " + wrapped(usage(*app, full), kColumns, 7, 7) + '\n';
    std::string arguments, options, commands;
    for (const Entry& e : entries_of(*app)) (e.is_argument ? arguments : options) += row(e.spell(), e.about);
    for (const CLI::App* command : commands_of(*app))
      commands += row(command->get_name(), command->get_description());
    if (!commands.empty()) text += "\nCommands:\n" + commands;
    if (!arguments.empty()) text += "\nArguments:\n" + arguments;
    if (!options.empty()) text += "\nOptions:\n" + options;
    std::string footer = make_footer(app);
    // The help of a command need not explain how to get it.
    if (app->get_parent() != nullptr) footer = footer.substr(0, footer.find("'isomer COMMAND"));
    return text + (footer.empty() ? "" : '\n' + footer);
  }
};

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  return out;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* command : commands_of(app)) out.push_back(command->get_name());
  return out;
}

std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '-' || c == '\\') out += '\\';
    out += c;
  }
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<HelpFormatter>(); }

std::string complaint_about(const CLI::ParseError& error, const CLI::App& app,
                            const std::vector<std::string>& arguments) {
  const auto commands = command_names(app);
  const auto is_word = [](const std::string& a) { return !a.starts_with('-'); };
  const auto first = std::ranges::find_if(arguments, is_word);
  const std::string command = first == arguments.end() ? "" : *first;
  if (!command.empty() && std::ranges::find(commands, command) == commands.end()) {
    const std::string meant = nearest(command, commands);
    return fmt::format("there is no command '{}'{} (see isomer --help)", command,
                       meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant));
  }
  if (const std::string removed = complaint_about_removed(command, arguments); !removed.empty())
    return removed;
  std::string line = error.what();
  const CLI::App* of = command.empty() ? &app : app.get_subcommand(command);
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    const auto options = option_names(*of);
    for (const std::string& a : arguments) {
      const std::string name = a.substr(0, a.find('='));
      if (!name.starts_with("--") || std::ranges::find(options, name) != options.end()) continue;
      const std::string meant = nearest(name, options);
      line = fmt::format("{} has no option '{}'{}", command, name,
                         meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant));
      break;
    }
  }
  return fmt::format("{} (see isomer {}{}--help)", line, command, command.empty() ? "" : " ");
}

std::string manual_page(const CLI::App& app, const std::string& command) {
  const auto names = command_names(app);
  if (!command.empty() && std::ranges::find(names, command) == names.end()) return "";
  const CLI::App& of = command.empty() ? app : *app.get_subcommand(command);
  const std::string page = command.empty() ? "isomer" : "isomer-" + command;
  const std::string name = command.empty() ? "isomer" : "isomer " + command;
  std::string text = fmt::format(".TH {} 1\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n", page, roff(page),
                                 roff(of.get_description()), roff(usage(of, name)));
  std::string arguments, options;
  for (const Entry& e : entries_of(of))
    (e.is_argument ? arguments : options) += fmt::format(".TP\n.B {}\n{}\n", roff(e.spell()), roff(e.about));
  const auto commands = commands_of(of);
  if (!commands.empty()) text += ".SH COMMANDS\n";
  for (const CLI::App* c : commands)
    text += fmt::format(".TP\n.B {}\n{}\n", roff(c->get_name()), roff(c->get_description()));
  if (!arguments.empty()) text += ".SH ARGUMENTS\n" + arguments;
  if (!options.empty()) text += ".SH OPTIONS\n" + options;
  return text + fmt::format(".SH EXIT STATUS\n{}\n", roff(app.get_footer()));
}

std::string completion_for(const CLI::App& app, const std::string& shell) {
  if (shell == "fish") {
    std::string text = "complete -c isomer -f -n __fish_use_subcommand\n";
    for (const CLI::App* c : commands_of(app)) {
      text += fmt::format("complete -c isomer -n __fish_use_subcommand -a {} -d '{}'\n", c->get_name(),
                          c->get_description());
      for (const std::string& o : option_names(*c))
        text += fmt::format("complete -c isomer -n '__fish_seen_subcommand_from {}' -l {}\n", c->get_name(),
                            o.substr(2));
    }
    return text;
  }
  std::string cases;
  for (const CLI::App* c : commands_of(app)) {
    std::vector<std::string> words = option_names(*c);
    const auto nested = command_names(*c);
    words.insert(words.end(), nested.begin(), nested.end());
    cases += fmt::format("    {}) words=\"{}\" ;;\n", c->get_name(), joined(words));
  }
  // zsh runs bash's completions.
  const std::string head =
      shell == "zsh" ? "#compdef isomer\nautoload -Uz bashcompinit && bashcompinit\n" : "";
  return head + fmt::format(R"(_isomer() {{
  local words=""
  case "${{COMP_WORDS[1]}}" in
{}    *) words="{}" ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="{}"; fi
  case "${{COMP_WORDS[COMP_CWORD]}}" in
    -*) COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}")) ;;
    *) if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[1]}}"))
       else COMPREPLY=($(compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}")); fi ;;
  esac
}}
complete -o filenames -F _isomer isomer
)",
                            cases, joined(command_names(app)), joined(command_names(app)));
}

}  // namespace isomer::cli
