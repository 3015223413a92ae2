// isomer propose: runs tests of proposers from files.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/wording.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

Result<Reply> propose(const std::filesystem::path& file) {
  const api::TestedProposers tested = api::test_proposers(file);
  std::string text;
  std::size_t failed = 0;
  for (const api::TestedProposer& test : tested.tests) {
    failed += test.as_expected ? 0 : 1;
    text += test.as_expected ? fmt::format("as expected: {}\n", printable(test.name))
                             : fmt::format("FAILED: {}: {}\n", printable(test.name), printable(test.found));
  }
  Reply reply{.exit = Exit::Done, .text = std::move(text), .json = Json::parse(tested.json)};
  if (failed == 0) return reply;
  reply.exit = Exit::Refuted;
  reply.complaint = fmt::format("{} of {} tests failed", failed, tested.tests.size());
  return reply;
}

}  // namespace

void add_propose(CLI::App& app, Chosen& chosen) {
  auto file = std::make_shared<std::filesystem::path>();
  CLI::App* command = app.add_subcommand("propose", "Run tests of proposers, given as text");
  command->add_option("FILE", *file, "Tests as text (docs/developers/proposer.md)")
      ->type_name("")
      ->required();
  command->add_flag("--json", chosen.json, "Answer in JSON");
  command->callback([&chosen, file] { chosen.run = [file] { return propose(*file); }; });
}

}  // namespace isomer::cli
