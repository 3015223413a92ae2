// isomer rules: decides every rule of a file, for all sizes; generates and lists rules; finds which follow
// from others.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/live.h"
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

std::string remark(const Json& rule) {
  if (rule["verdict"] == "proved") return "for all sizes";
  if (rule["verdict"] == "conditional") return "requires " + required_text(rule);
  if (rule["verdict"] == "refuted")
    return "false, and no simple precondition (docs/reference/rules.md) makes it true";
  return shortened(string_of(rule, "why"), kLongestReason);
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
      add_remark("for example, " + string_of(example, "words"));
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

// An expected verdict is no failure. Otherwise a refutation is the answer, whatever is undecided beside it.
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

// ---- generate

struct GenerateRequest {
  std::filesystem::path out;
  api::GenerateRulesOptions options;
  std::string shard = "";
  LiveRequest live;
};

// "2/3"; false: it is no part of a whole.
bool read_shard(const std::string& text, api::GenerateRulesOptions& out) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return false;
  const auto number = [](std::string_view digits, int& value) {
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return read.ec == std::errc() && read.ptr == digits.data() + digits.size() && value >= 1;
  };
  const std::string_view all = text;
  return number(all.substr(0, slash), out.shard) && number(all.substr(slash + 1), out.shards) &&
         out.shard <= out.shards;
}

std::string generated_text(const Json& report, const std::filesystem::path& out) {
  using enum Table::Align;
  const std::size_t columns = columns_of(STDOUT_FILENO);
  Table table({{"operators", Right},
               {"enumerated", Right},
               {"computed", Right},
               {"candidates", Right},
               {"after renaming", Right},
               {"common subgraphs", Right},
               {"derivability", Right},
               {"proved", Right},
               {"processor s", Right}});
  std::string dropped;
  for (const Json& s : report["stages"]) {
    const auto count = [&](const char* field) { return grouped(s[field].get<std::uint64_t>()); };
    table.add({count("operators"), count("terms"), count("computed"), count("candidates"),
               count("after_renaming"), count("after_common"), count("after_derivability"),
               grouped(s["proved"].get<std::uint64_t>() + s["conditional"].get<std::uint64_t>()),
               fmt::format("{:.1f}", (s["enumerate_ms"].get<double>() + s["propose_ms"].get<double>() +
                                      s["decide_ms"].get<double>()) /
                                         1000)});
    for (const auto& [why, n] : s["dropped"].items())
      dropped += "  " +
                 wrapped(fmt::format("{} operators: {} dropped: {}", count("operators"),
                                     grouped(n.get<std::uint64_t>()), why),
                         columns, 4, 2) +
                 '\n';
    for (const auto& [field, what] : {std::pair("left_out", "terms"),
                                      {"candidates_left_out", "candidates"},
                                      {"doubtful_left_out", "doubtful candidates"}})
      if (s[field].get<std::uint64_t>() > 0)
        dropped += fmt::format("  {} operators: {} {} left out by the bound\n", count("operators"),
                               count(field), what);
  }
  const std::string spent = fmt::format(
      "{:.1f} s, {:.1f} s of processor time, peak memory {:.0f} MB", report["ms"].get<double>() / 1000,
      report["cpu_ms"].get<double>() / 1000, report["peak_bytes"].get<double>() / 1e6);
  std::string made = fmt::format("{} rules in {}{}; {}", grouped(report["rules"].get<std::uint64_t>()),
                                 out.string(), report["complete"].get<bool>() ? "" : ", INCOMPLETE", spent);
  if (const auto shard = report.find("shard"); shard != report.end() && !shard->is_null())
    made = fmt::format("shard {}/{} in {}{}: {} rules of fewer operators, {} proposed; {}",
                       (*shard)["index"].get<int>(), (*shard)["of"].get<int>(), out.string(),
                       (*shard)["reused"].get<bool>() ? ", which was there" : "",
                       grouped(report["rules"].get<std::uint64_t>()),
                       grouped((*shard)["proposed"].get<std::uint64_t>()), spent);
  return table.text() + (dropped.empty() ? "" : '\n' + dropped) + '\n' + wrapped(made, columns, 0) + '\n';
}

Result<Reply> generate(GenerateRequest request) {
  if (!request.shard.empty() && !read_shard(request.shard, request.options))
    return Error{fmt::format("--shard {}: not I/N with 1 <= I <= N", request.shard)};
  const Interrupt interrupt;
  ISOMER_TRY(auto live, Live::start(request.live, {}, interrupt.flag()));
  live->set_kept("the proved rules are written");
  request.options.stop = interrupt.token();
  request.options.progress = [&live](std::string_view now) { live->show(now); };
  const Json report = Json::parse(api::generate_rules(request.out, request.options).json);
  live.reset();
  return Reply{.exit = Exit::Done, .text = generated_text(report, request.out), .json = report};
}

void add_generate(CLI::App& rules, Chosen& chosen) {
  auto request = std::make_shared<GenerateRequest>();
  CLI::App* command = rules.add_subcommand(
      "generate",
      "Find rules by enumeration, prove them for all sizes, and keep those that do not follow from others");
  command->add_option("-o,--output", request->out, "The file for the rules")->required();
  command->add_option("--operators", request->options.operators, "Limit of the operators of either side")
      ->check(CLI::Range(1, 5))
      ->capture_default_str();
  command->add_option("--threads", request->options.threads, "Threads; the rules are the same for any number")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command
      ->add_option("--most-terms", request->options.most_terms,
                   "Limit of the terms with one number of operators")
      ->capture_default_str();
  command
      ->add_option("--most-candidates", request->options.most_candidates,
                   "Limit of the candidates with one number of operators; those with most inputs come first")
      ->capture_default_str();
  command
      ->add_option(
          "--most-doubtful", request->options.most_doubtful,
          "Limit of the candidates with one number of operators that an undecided rule implies; tried last")
      ->capture_default_str();
  command
      ->add_option("--shard", request->shard,
                   "I/N: part I of N of the largest number of operators, for rules merge; a complete file is "
                   "not made again")
      ->default_str("all of it");
  command->add_flag("--json", chosen.json, "Answer in JSON");
  add_live_options(*command, request->live);
  command->callback([&chosen, request] { chosen.run = [request] { return generate(*request); }; });
}

struct MergeRequest {
  std::vector<std::filesystem::path> shards;
  std::filesystem::path out;
  api::MergeRulesOptions options;
  LiveRequest live;
};

Result<Reply> merge(MergeRequest request) {
  const Interrupt interrupt;
  ISOMER_TRY(auto live, Live::start(request.live, {}, interrupt.flag()));
  live->set_kept("the proved rules are written");
  request.options.stop = interrupt.token();
  request.options.progress = [&live](std::string_view now) { live->show(now); };
  const Json report = Json::parse(api::merge_rules(request.shards, request.out, request.options).json);
  live.reset();
  return Reply{.exit = Exit::Done, .text = generated_text(report, request.out), .json = report};
}

void add_merge(CLI::App& rules, Chosen& chosen) {
  auto request = std::make_shared<MergeRequest>();
  CLI::App* command = rules.add_subcommand(
      "merge", "Prove what the shards of `rules generate` propose, and write the rules of one run");
  command->add_option("SHARD", request->shards, "All shards of a run")->required();
  command->add_option("-o,--output", request->out, "The file for the rules")->required();
  command->add_option("--threads", request->options.threads, "Threads; the rules are the same for any number")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command->add_flag("--json", chosen.json, "Answer in JSON");
  add_live_options(*command, request->live);
  command->callback([&chosen, request] { chosen.run = [request] { return merge(*request); }; });
}

// ---- list, show, derive

Result<Reply> list(const std::filesystem::path& path) {
  const Json report = Json::parse(api::list_rules(path));
  const std::size_t columns = columns_of(STDOUT_FILENO);
  std::string out;
  for (const Json& rule : report["rules"])
    out += wrapped(printable(string_of(rule, "name") + "  " + string_of(rule, "says")), columns, 4) + '\n';
  return Reply{.exit = Exit::Done, .text = out, .json = report};
}

Result<Reply> show(const std::filesystem::path& path, const std::string& name) {
  const Json report = Json::parse(api::list_rules(path));
  for (const Json& rule : report["rules"])
    if (rule["name"] == name) return Reply{.exit = Exit::Done, .text = string_of(rule, "text"), .json = rule};
  return Error{fmt::format("{} has no rule {}", path.string(), name)};
}

Result<Reply> derive(const std::filesystem::path& path, const std::filesystem::path& pack, int steps) {
  const Json report = Json::parse(api::derive_rules(path, pack, steps));
  using enum Table::Align;
  Table table({{"rule", Left}, {"instances", Right}, {"derived", Right}, {"by", Left}});
  for (const Json& rule : report["rules"])
    table.add({printable(string_of(rule, "name")), grouped(rule["instances"].get<std::uint64_t>()),
               grouped(rule["derived_instances"].get<std::uint64_t>()),
               fmt::format("{}", fmt::join(rule["steps"].get<std::vector<std::string>>(), " "))});
  const std::size_t all = report["rules"].size();
  const auto derived = report["derived"].get<std::size_t>();
  return Reply{.exit = derived == all ? Exit::Done : Exit::Undecided,
               .text = table.text() + fmt::format("\n{} of {} rules follow\n", derived, all),
               .json = report,
               .complaint = derived == all ? "" : fmt::format("{} rules do not follow", all - derived)};
}

struct FileRequest {
  std::filesystem::path file, pack;
  std::string name;
  int steps = 3;
};

void add_readers(CLI::App& rules, Chosen& chosen) {
  auto request = std::make_shared<FileRequest>();
  const auto add = [&](const char* name, const char* what) {
    CLI::App* command = rules.add_subcommand(name, what);
    command->add_option("FILE", request->file, "Rules as text")->required();
    command->add_flag("--json", chosen.json, "Answer in JSON");
    return command;
  };
  add("list", "Describe each rule of a file")->callback([&chosen, request] {
    chosen.run = [request] { return list(request->file); };
  });
  CLI::App* shown = add("show", "Print one rule of a file");
  shown->add_option("NAME", request->name, "The rule")->required();
  shown->callback(
      [&chosen, request] { chosen.run = [request] { return show(request->file, request->name); }; });
  CLI::App* derived =
      add("derive", "Find the rules of a file that follow from those of another in a few steps");
  derived->add_option("--from", request->pack, "The rules that may be used")->required();
  derived->add_option("--steps", request->steps, "Limit of the uses of a rule")
      ->check(CLI::Range(1, 6))
      ->capture_default_str();
  derived->callback([&chosen, request] {
    chosen.run = [request] { return derive(request->file, request->pack, request->steps); };
  });
}

}  // namespace

void add_rules(CLI::App& app, Chosen& chosen) {
  auto path = std::make_shared<std::filesystem::path>();
  CLI::App* rules = app.add_subcommand("rules", "Rewrite rules as text");
  rules->require_subcommand(1);
  CLI::App* prove = rules->add_subcommand(
      "prove", "Prove each rule of a file for all sizes, or find its precondition and a counterexample");
  prove->add_option("FILE", *path, "Rules as text")->required();
  prove->add_flag("--json", chosen.json, "Answer in JSON");
  prove->callback([&chosen, path] { chosen.run = [path] { return prove_rules(*path); }; });
  add_generate(*rules, chosen);
  add_merge(*rules, chosen);
  add_readers(*rules, chosen);
}

}  // namespace isomer::cli
