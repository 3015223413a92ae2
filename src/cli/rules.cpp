// isomer rules prove: decides every rule of a file, for all sizes.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/json_text.h"
#include "cli/reason_words.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/wording.h"
#include "isomer/isomer.h"

namespace isomer::cli {
namespace {

std::string string_of(const Json& json, const char* field) { return json.at(field).get<std::string>(); }

// "a and b; or c"
std::string required_text(const Json& rule) {
  std::string out;
  for (const Json& conditions : rule["requires"])
    out += (out.empty() ? "" : "; or ") +
           fmt::format("{}", fmt::join(conditions.get<std::vector<std::string>>(), " and "));
  return out;
}

// "g = 2, x [3, 4, 7, 5], w [2, 2, 3, 3]: output 0 at [0, 1, 0, 0] is -6 on the left, 4 on the right"
std::string example_text(const Json& example) {
  std::string where;
  for (const auto& [name, value] : example["values"].items())
    where += fmt::format("{} = {}, ", name, value.get<std::string>());
  for (const auto& [name, shape] : example["shapes"].items())
    where += fmt::format("{} {}, ", name, shape_text(shape));
  where.resize(where.size() - std::min<std::size_t>(where.size(), 2));
  return fmt::format("{}: output {} at {} is {} on the left, {} on the right", where,
                     example["output"].get<int>(), shape_text(example["position"]),
                     number_of(example["left"]), number_of(example["right"]));
}

std::string remark(const Json& rule) {
  if (rule["verdict"] == "proved") return "for all sizes";
  if (rule["verdict"] == "conditional") return "requires " + required_text(rule);
  if (rule["verdict"] == "refuted")
    return "false, and no simple precondition (see docs/rules.md) makes it true";
  return plain_reason(string_of(rule, "why"));
}

std::string expected_text(const Json& rule) {
  if (rule["as_expected"].is_null()) return "";
  return rule["as_expected"].get<bool>() ? "as expected" : "NOT as expected";
}

std::string to_text(const Json& report) {
  using enum Table::Align;
  const std::size_t columns = columns_of(STDOUT_FILENO);
  Table table({{"rule", Left}, {"instances", Right}, {"verdict", Left}, {"", Left}});
  std::string remarks;
  for (const Json& rule : report["rules"]) {
    const std::string name = string_of(rule, "name");
    const auto add_remark = [&](const std::string& what) {
      remarks += "  " + wrapped(printable(name + ": " + what), columns, 4, 2) + '\n';
    };
    table.add({shortened(printable(name), columns - 40), grouped(rule["instances"].get<std::uint64_t>()),
               string_of(rule, "verdict"), expected_text(rule)});
    if (rule["verdict"] != "proved") add_remark(remark(rule));
    if (const Json& example = rule["counterexample"]; !example.is_null())
      add_remark("for example, " + example_text(example));
  }
  std::string out = table.text();
  if (!remarks.empty()) out += '\n' + remarks;
  const auto count = [&](const char* verdict) { return report[verdict].get<std::uint64_t>(); };
  const std::size_t all = report["rules"].size();
  return out + '\n' +
         wrapped(fmt::format("{} rule{}: {} proved for all sizes, {} under a precondition, {} refuted, {} "
                             "undecided; {:.2f} s",
                             all, all == 1 ? "" : "s", count("proved"), count("conditional"),
                             count("refuted"), count("undecided"), report["ms"].get<double>() / 1000),
                 columns, 0) +
         '\n';
}

// What a text expects is no failure. Otherwise a refutation is the answer, whatever is undecided beside it.
Reply reply_of(const Json& report) {
  Reply reply{.exit = Exit::Done, .text = to_text(report), .json = report};
  for (const Json& rule : report["rules"]) {
    const bool has_expectation = !rule["as_expected"].is_null();
    if (has_expectation && rule["as_expected"].get<bool>()) continue;
    const bool undecided = rule["verdict"] == "undecided";
    const bool refuted = !undecided && (has_expectation || rule["verdict"] == "refuted");
    if (!undecided && !refuted) continue;
    if (reply.exit == Exit::Refuted || (undecided && reply.exit == Exit::Undecided)) continue;
    reply.exit = refuted ? Exit::Refuted : Exit::Undecided;
    reply.complaint =
        fmt::format("rule {}: {}, {}{}", string_of(rule, "name"), string_of(rule, "verdict"), remark(rule),
                    has_expectation ? ", which is not what its text expects" : "");
  }
  return reply;
}

Result<Reply> prove_rules(const std::filesystem::path& path) {
  return reply_of(Json::parse(api::prove_rules(path).json));
}

}  // namespace

void add_rules(CLI::App& app, Chosen& chosen) {
  auto path = std::make_shared<std::filesystem::path>();
  CLI::App* rules = app.add_subcommand("rules", "Rewrite rules as text");
  rules->require_subcommand(1);
  CLI::App* prove = rules->add_subcommand(
      "prove", "Prove each rule of a file for all sizes, or find what it requires, with a counterexample");
  prove->add_option("FILE", *path, "Rules as text")->required();
  prove->add_flag("--json", chosen.json, "Answer in JSON");
  prove->callback([&chosen, path] { chosen.run = [path] { return prove_rules(*path); }; });
}

}  // namespace isomer::cli
