// The command line: parses arguments, runs one command, prints its reply. The one place that speaks and sets
// exit codes.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/last_words.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/terminal.h"
#include "cli/wording.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

int code(Exit exit) { return static_cast<int>(exit); }

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n'; }

// Whether all of it arrived: a full disk under stdout must not look like success.
bool write(std::FILE* stream, std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stream) == text.size() && std::fflush(stream) == 0;
}

void complain(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  while (text.ends_with(' ')) text.pop_back();
  write(stderr, fmt::format("isomer: {}\n", printable(text)));
}

int refuse(const Error& error, bool json, Exit exit = Exit::BadInput) {
  // Messages also name the node, for readers that have only the message; here once is enough.
  std::string line, message = error.message;
  if (message.starts_with(error.node + ": ")) message.erase(0, error.node.size() + 2);
  if (!error.node.empty() && message.find(fmt::format("node '{}'", error.node)) == std::string::npos) {
    line = fmt::format("node '{}': ", error.node);
    if (!error.attribute.empty()) line += fmt::format("attribute '{}': ", error.attribute);
  }
  complain(line + message);
  if (json) {
    const Json body{{"message", error.message}, {"node", error.node}, {"attribute", error.attribute}};
    write(stdout, dump({{"error", body}}));
  }
  return code(exit);
}

int deliver(const Reply& reply, bool json) {
  // On a terminal that shows both streams the message is already visible.
  const bool is_seen =
      !json && !reply.complaint.empty() && is_terminal(STDOUT_FILENO) && is_terminal(STDERR_FILENO);
  if (reply.exit != Exit::Done && !is_seen) complain(reply.complaint.empty() ? reply.text : reply.complaint);
  const bool to_stdout = json || reply.exit == Exit::Done || !reply.complaint.empty();
  if (to_stdout && !write(stdout, json ? dump(reply.json) : reply.text))
    return refuse({"can't write to stdout"}, false);
  return code(reply.exit);
}

int run(const Chosen& chosen) {
  try {
    const auto reply = chosen.run();
    const int exit = reply ? deliver(*reply, chosen.json) : refuse(reply.error(), chosen.json);
    if (reply && reply->leaves_threads) std::_Exit(exit);
    return exit;
  } catch (const api::Error& e) {
    return refuse({e.what(), e.node(), e.attribute()}, chosen.json,
                  e.kind() == api::ErrorKind::Internal  ? Exit::OurBug
                  : e.kind() == api::ErrorKind::Stopped ? Exit::Stopped
                                                        : Exit::BadInput);
  } catch (const std::bad_alloc&) {
    return refuse({"not enough memory"}, chosen.json);
  } catch (const InternalError& bug) {
    return refuse({bug.what()}, chosen.json, Exit::OurBug);
  } catch (const std::exception& bug) {
    return refuse({fmt::format("internal error: {}", bug.what())}, chosen.json, Exit::OurBug);
  }
}

int start(int argc, char** argv) {
  CLI::App app("Isomer makes ONNX models faster and proves that they still compute the same function.",
               "isomer");
  app.set_version_flag("--version", "isomer " ISOMER_VERSION);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  app.formatter(help_formatter());
  app.footer(
      "Exit: 0 done; 1 refuted, rejected, different or slower; 2 bad usage or input;\n3 undecided or not "
      "modelled; 4 no gain, with --require-gain.\n'isomer COMMAND --help' describes a command.");
  Chosen chosen;
  add_bench(app, chosen);
  add_optimize(app, chosen);
  add_simplify(app, chosen);
  add_check(app, chosen);
  add_report(app, chosen);
  add_compile(app, chosen);
  add_compare(app, chosen);
  add_explore(app, chosen);
  add_gate(app, chosen);
  add_inspect(app, chosen);
  add_prove(app, chosen);
  add_rules(app, chosen);
  add_propose(app, chosen);
  add_run(app, chosen);
  add_scan(app, chosen);
  add_cache(app, chosen);
  add_plans(app, chosen);
  add_fleet(app, chosen);
  add_manual(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    const bool json = std::any_of(argv, argv + argc, [](std::string_view word) { return word == "--json"; });
    return refuse({complaint_about(error, app, {argv + 1, argv + argc})}, json);
  }
  return run(chosen);
}

// Lists of operators and commands are made before main: there, too, memory may be out.
[[gnu::constructor(101)]] void before_all_else() {
  end_with_one_line(code(Exit::BadInput), code(Exit::OurBug));
}

}  // namespace
}  // namespace isomer::cli

int main(int argc, char** argv) { return isomer::cli::start(argc, argv); }
