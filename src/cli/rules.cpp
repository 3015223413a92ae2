// isomer rules prove: decides every rule of a file, for all sizes.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "cli/command.h"
#include "cli/reason_words.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/wording.h"
#include "onnx/schemas.h"
#include "ops/operator.h"
#include "pipeline/nearest_word.h"
#include "rules/prove_rule.h"

namespace isomer::cli {
namespace {

constexpr std::uintmax_t kMostBytes = std::uintmax_t{64}
                                      << 20u;  // of a file of rules; people write kilobytes

using Outcome = RuleVerdict::Outcome;

struct Decided {
  const Rule* rule;
  RuleVerdict verdict;
  double ms = 0;
  bool as_expected = true;
};

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

std::string_view word(Outcome outcome) {
  switch (outcome) {
    case Outcome::Proved: return "proved";
    case Outcome::Conditional: return "conditional";
    case Outcome::Refuted: return "refuted";
    case Outcome::Undecided: break;
  }
  return "undecided";
}

std::string required_text(const RuleVerdict& verdict) {
  std::string out;
  for (const Conditions& c : verdict.weakest) out += (out.empty() ? "" : "; or ") + text(c);
  return out;
}

// "g = 2, x [3, 4, 7, 5], w [2, 2, 3, 3]: output 0 at [0, 1, 0, 0] is -6 on the left, 4 on the right"
std::string text_of(const RuleCounterexample& example) {
  std::string where;
  for (const auto& [name, value] : example.values) where += fmt::format("{} = {}, ", name, value);
  for (const auto& [name, tensor] : example.refuted.feeds)
    where += fmt::format("{} {}, ", name, text(to_dims(tensor.extents())));
  where.resize(where.size() - std::min<std::size_t>(where.size(), 2));
  const Refuted& r = example.refuted;
  return fmt::format("{}: output {} at {} is {} on the left, {} on the right", where, r.output,
                     text(to_dims(r.position)), r.a, r.b);
}

std::string remark(const Decided& d) {
  switch (d.verdict.outcome) {
    case Outcome::Proved: return "for all sizes";
    case Outcome::Conditional: return "requires " + required_text(d.verdict);
    case Outcome::Refuted: return "false, and no simple precondition (see docs/rules.md) makes it true";
    case Outcome::Undecided: break;
  }
  return plain_reason(d.verdict.why);
}

std::string expected_text(const Decided& d) {
  if (!d.rule->expectation) return "";
  return d.as_expected ? "as expected" : "NOT as expected";
}

std::size_t count(const std::vector<Decided>& all, Outcome outcome) {
  return static_cast<std::size_t>(
      std::ranges::count_if(all, [&](const Decided& d) { return d.verdict.outcome == outcome; }));
}

std::string to_text(const std::vector<Decided>& all, double ms) {
  using enum Table::Align;
  const std::size_t columns = columns_of(STDOUT_FILENO);
  Table table({{"rule", Left}, {"instances", Right}, {"verdict", Left}, {"", Left}});
  std::string remarks;
  const auto add_remark = [&](const Decided& d, const std::string& what) {
    remarks += "  " + wrapped(printable(d.rule->name + ": " + what), columns, 4, 2) + '\n';
  };
  for (const Decided& d : all) {
    table.add({shortened(printable(d.rule->name), columns - 40), grouped(d.rule->instances.size()),
               std::string(word(d.verdict.outcome)), expected_text(d)});
    if (d.verdict.outcome != Outcome::Proved) add_remark(d, remark(d));
    if (d.verdict.counterexample) add_remark(d, "for example, " + text_of(*d.verdict.counterexample));
  }
  std::string out = table.text();
  if (!remarks.empty()) out += '\n' + remarks;
  return out + '\n' +
         wrapped(fmt::format("{} rule{}: {} proved for all sizes, {} under a precondition, {} refuted, {} "
                             "undecided; {:.2f} s",
                             all.size(), all.size() == 1 ? "" : "s", count(all, Outcome::Proved),
                             count(all, Outcome::Conditional), count(all, Outcome::Refuted),
                             count(all, Outcome::Undecided), ms / 1000),
                 columns, 0) +
         '\n';
}

Json to_json(const RuleCounterexample& example) {
  Json values = Json::object(), shapes = Json::object();
  for (const auto& [name, value] : example.values) values[name] = value;
  for (const auto& [name, tensor] : example.refuted.feeds) shapes[name] = tensor.extents();
  return {{"values", values},
          {"shapes", shapes},
          {"output", example.refuted.output},
          {"position", example.refuted.position},
          {"left", example.refuted.a},
          {"right", example.refuted.b}};
}

Json to_json(const Decided& d) {
  Json required = Json::array();
  for (const Conditions& conditions : d.verdict.weakest) {
    Json all = Json::array();
    for (const Condition& c : conditions) all.push_back(c.text);
    required.push_back(std::move(all));
  }
  return {{"name", d.rule->name},
          {"line", d.rule->line},
          {"instances", d.rule->instances.size()},
          {"verdict", word(d.verdict.outcome)},
          {"requires", std::move(required)},
          {"counterexample", d.verdict.counterexample ? to_json(*d.verdict.counterexample) : Json()},
          {"why", d.verdict.why},
          {"as_expected", d.rule->expectation ? Json(d.as_expected) : Json()},
          {"ms", d.ms}};
}

Json to_json(const std::vector<Decided>& all, double ms) {
  Json rules = Json::array();
  for (const Decided& d : all) rules.push_back(to_json(d));
  return {{"rules", std::move(rules)},
          {"proved", count(all, Outcome::Proved)},
          {"conditional", count(all, Outcome::Conditional)},
          {"refuted", count(all, Outcome::Refuted)},
          {"undecided", count(all, Outcome::Undecided)},
          {"ms", ms}};
}

// What a text expects is no failure. Otherwise a refutation is the answer, whatever is undecided beside it.
Reply reply_of(const std::vector<Decided>& all, double ms) {
  Reply reply{.exit = Exit::Done, .text = to_text(all, ms), .json = to_json(all, ms)};
  for (const Decided& d : all) {
    if (d.rule->expectation && d.as_expected) continue;
    const bool undecided = d.verdict.outcome == Outcome::Undecided;
    const bool refuted = !undecided && (d.rule->expectation || d.verdict.outcome == Outcome::Refuted);
    if (!undecided && !refuted) continue;
    if (reply.exit == Exit::Refuted || (undecided && reply.exit == Exit::Undecided)) continue;
    reply.exit = refuted ? Exit::Refuted : Exit::Undecided;
    reply.complaint = fmt::format("rule {}: {}, {}{}", d.rule->name, word(d.verdict.outcome), remark(d),
                                  d.rule->expectation ? ", which is not what its text expects" : "");
  }
  return reply;
}

Result<std::string> read_text(const std::filesystem::path& path) {
  std::error_code failure;
  const std::uintmax_t size = std::filesystem::file_size(path, failure);
  if (failure) return Error{fmt::format("can't read {}: {}", path.string(), failure.message())};
  if (size > kMostBytes) return Error{fmt::format("{} is too large for a file of rules", path.string())};
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) return Error{fmt::format("can't read {}", path.string())};
  return std::move(text).str();
}

// An operator that nobody knows is a slip of the pen, not something to be undecided about.
Status check_operators(const Rule& rule) {
  std::vector<std::string> known;
  for (const Operator* op : all_operators()) known.emplace_back(op->name);
  for (const RuleInstance& instance : rule.instances)
    for (const Graph* side : {&instance.left, &instance.right})
      for (const NodeId id : side->order()) {
        const Node& node = side->node(id);
        if (node.kind != NodeKind::Operator || wire::is_standard_operator(node.domain, node.op) ||
            find_operator(node.domain, node.op))
          continue;
        const std::string meant = nearest(node.op, known);
        return Error{fmt::format("rule {}, line {}: there is no operator {}{}", rule.name, rule.line, node.op,
                                 meant.empty() ? "" : fmt::format("; did you mean {}?", meant))};
      }
  return Done{};
}

Result<Reply> prove_rules(const std::filesystem::path& path) {
  ISOMER_TRY(const std::string source, read_text(path));
  const auto rules = parse_rules(source);
  if (!rules.ok()) return Error{fmt::format("{}: {}", path.string(), rules.error().message)};
  for (const Rule& rule : *rules)
    if (const Status known = check_operators(rule); !known.ok())
      return Error{fmt::format("{}: {}", path.string(), known.error().message)};
  std::vector<Decided> all;
  const auto start = std::chrono::steady_clock::now();
  for (const Rule& rule : *rules) {
    const auto begun = std::chrono::steady_clock::now();
    Decided d{.rule = &rule, .verdict = prove_rule(rule)};
    d.ms = milliseconds_since(begun);
    d.as_expected = is_as_expected(rule, d.verdict);
    all.push_back(std::move(d));
  }
  return reply_of(all, milliseconds_since(start));
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
