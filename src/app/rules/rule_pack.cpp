#include "app/rules/rule_pack.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "base/read_text.h"
#include "io/onnx/write_file.h"
#include "rules/generate/derive.h"
#include "rules/text/clauses.h"

namespace isomer {
namespace {

constexpr std::uintmax_t kMostBytes = std::uintmax_t{64}
                                      << 20u;  // of a file of rules; people write kilobytes
constexpr std::uintmax_t kMostShardBytes = std::uintmax_t{4}
                                           << 30u;  // millions of rules, half a kilobyte each

constexpr const char* kRules = "a file of rules";
constexpr const char* kLevelsSuffix = ".levels";

Result<rules::ShardText> read_shard(const std::filesystem::path& file) {
  ISOMER_TRY(const std::string text, read_text(file, kMostShardBytes, kRules));
  auto shard = rules::ShardText::parse(text);
  if (!shard.ok()) return Error{fmt::format("{}: {}", file.string(), shard.error().message)};
  return shard;
}

}  // namespace

Result<RulesFile> read_rules(const std::filesystem::path& file) {
  ISOMER_TRY(std::string text, read_text(file, kMostBytes, kRules));
  RulesFile out{.text = std::move(text), .rules = {}};
  auto parsed = parse_rules(out.text);
  if (!parsed.ok()) return Error{fmt::format("{}: {}", file.string(), parsed.error().message)};
  out.rules = std::move(parsed).value();
  return out;
}

Result<rules::GeneratedPack> write_generated_rules(const std::filesystem::path& file,
                                                   const rules::GenerateOptions& options) {
  ISOMER_TRY_DO(wire::check_target(file, {}));
  // Decided rules are kept beside the file until all are, so that a stopped run can continue.
  std::filesystem::path levels = file;
  levels += kLevelsSuffix;
  std::optional<rules::ShardText> begun;
  if (std::filesystem::exists(levels))
    if (auto old = read_shard(levels); old.ok() && rules::is_shard_of(*old, options, rules::kNoShard))
      begun = std::move(old).value();
  rules::GenerateOptions asked = options;
  asked.begun = begun ? &*begun : nullptr;
  std::optional<Error> failure;
  asked.on_level = [&](const rules::ShardText& so_far) {
    if (const Status written = wire::write_text(levels, so_far.text()); !written.ok())
      failure = written.error();
  };
  rules::GeneratedPack pack = rules::generate_rules(asked);
  if (failure) return *failure;
  ISOMER_TRY_DO(wire::write_text(file, pack.text));
  std::error_code ignored;
  if (!options.stop.stop_requested()) std::filesystem::remove(levels, ignored);
  return pack;
}

Result<WrittenShard> write_shard(const std::filesystem::path& file, const rules::GenerateOptions& options,
                                 rules::Shard shard) {
  ISOMER_TRY_DO(wire::check_target(file, {}));
  if (std::filesystem::exists(file))
    if (auto old = read_shard(file); old.ok() && rules::is_shard_of(*old, options, shard))
      return WrittenShard{.shard = std::move(old).value(), .is_reused = true};
  auto made = rules::propose_shard(options, shard);
  if (!made) return Error{"stopped before the shard was complete; nothing is written"};
  ISOMER_TRY_DO(wire::write_text(file, made->text()));
  return WrittenShard{.shard = std::move(*made), .is_reused = false};
}

Result<rules::GeneratedPack> write_merged_rules(const std::vector<std::filesystem::path>& shards,
                                                const std::filesystem::path& file,
                                                const rules::GenerateOptions& options) {
  ISOMER_TRY_DO(wire::check_target(file, {}));
  std::vector<rules::ShardText> read;
  for (const std::filesystem::path& path : shards) {
    ISOMER_TRY(rules::ShardText shard, read_shard(path));
    read.push_back(std::move(shard));
  }
  ISOMER_TRY(rules::GeneratedPack pack, rules::merge_shards(std::move(read), options));
  ISOMER_TRY_DO(wire::write_text(file, pack.text));
  return pack;
}

Result<std::vector<ListedRule>> list_rules(const std::filesystem::path& file) {
  ISOMER_TRY(const RulesFile read, read_rules(file));
  std::vector<std::string> lines;
  std::istringstream stream(read.text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  const auto is_comment = [&](std::size_t i) { return lines[i].starts_with('#'); };
  std::vector<ListedRule> out;
  for (std::size_t r = 0; r < read.rules.size(); ++r) {
    const auto line = static_cast<std::size_t>(read.rules[r].line - 1);
    std::size_t begin = line, end = r + 1 < read.rules.size()
                                        ? static_cast<std::size_t>(read.rules[r + 1].line - 1)
                                        : lines.size();
    while (begin > 0 && is_comment(begin - 1)) --begin;
    while (end > line && (lines[end - 1].empty() || is_comment(end - 1))) --end;
    std::vector<std::string> says(lines.begin() + static_cast<std::ptrdiff_t>(begin),
                                  lines.begin() + static_cast<std::ptrdiff_t>(line));
    for (std::string& s : says) s.erase(0, 2);
    ListedRule& rule = out.emplace_back();
    rule.name = read.rules[r].name;
    for (std::size_t i = begin; i < end; ++i) rule.text += lines[i] + '\n';
    if (end == line + 1) {
      // A rule on one line, as packs write it, has its comment behind it, and is shown in lines.
      if (const std::size_t comment = lines[line].find("# "); comment != std::string::npos)
        says.push_back(lines[line].substr(comment + 2));
      rule.text = says.empty() ? "" : fmt::format("# {}\n", fmt::join(says, "\n# "));
      rule.text += in_lines(*clauses_of(lines[line]));
    }
    rule.says = fmt::format("{}", fmt::join(says, "; "));
  }
  return out;
}

Result<std::vector<DerivedRule>> derive_rules(const std::filesystem::path& file,
                                              const std::filesystem::path& pack, int steps) {
  ISOMER_TRY(const RulesFile asked, read_rules(file));
  ISOMER_TRY(const RulesFile known, read_rules(pack));
  rules::Words words;
  rules::EquationIndex index;
  for (std::size_t i = 0; i < known.rules.size(); ++i)
    for (rules::Equation& e : rules::equations_of(words, known.rules[i], i)) index.add(std::move(e));
  std::vector<DerivedRule> out;
  for (const Rule& rule : asked.rules) {
    DerivedRule& answer = out.emplace_back();
    answer.name = rule.name;
    rules::Derivation longest;
    for (const RuleInstance& instance : rule.instances) {
      // For a rule with an expected precondition, the instances that satisfy it.
      Rule alone = rule;
      alone.instances = {instance};
      if (rule.expectation && rule.expectation->kind == Expectation::Kind::Requires) {
        Imposed imposed = impose(rule.expectation->conditions, instance);
        if (imposed.outcome != Imposed::Outcome::Kept) continue;
        alone.instances = {std::move(*imposed.instance)};
      }
      ++answer.instances;
      const auto found = rules::derive_rule(words, index, alone, {.steps = steps});
      if (!found) continue;
      ++answer.derived_instances;
      if (found->size() > longest.size()) longest = *found;
    }
    answer.is_derived = answer.instances > 0 && answer.derived_instances == answer.instances;
    for (const std::size_t i : longest) answer.steps.push_back(known.rules[i].name);
  }
  return out;
}

}  // namespace isomer
