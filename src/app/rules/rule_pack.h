// Packs of rules as files: making, listing, and testing whether other rules follow from them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "rules/generate/generate.h"

namespace isomer {

// The text of a rules file, and its rules. Error: the file can't be read, or is no text of rules.
struct RulesFile {
  std::string text;
  std::vector<Rule> rules;
};
Result<RulesFile> read_rules(const std::filesystem::path& file);

// Generates and writes a pack; also what there is when it is stopped, which then says that it is incomplete.
Result<rules::GeneratedPack> write_generated_rules(const std::filesystem::path& file,
                                                   const rules::GenerateOptions& options);

// A shard of a run as a file. One that is there already, complete and of the same run, is not made again.
// Error: it was stopped, or the file can't be written.
struct WrittenShard {
  rules::ShardText shard;
  bool is_reused = false;
};
Result<WrittenShard> write_shard(const std::filesystem::path& file, const rules::GenerateOptions& options,
                                 rules::Shard shard);
// The pack of all shards, written as write_generated_rules does.
Result<rules::GeneratedPack> write_merged_rules(const std::vector<std::filesystem::path>& shards,
                                                const std::filesystem::path& file,
                                                const rules::GenerateOptions& options);

struct ListedRule {
  std::string name, says, text;  // what the comment above it says; all of its lines
};
Result<std::vector<ListedRule>> list_rules(const std::filesystem::path& file);

// Whether each rule of a file follows from those of a pack in a few steps.
struct DerivedRule {
  std::string name;
  bool is_derived = false;
  std::vector<std::string>
      steps;  // rules of the pack, of the longest derivation among its outputs and instances
  std::size_t instances = 0, derived_instances = 0;
};
Result<std::vector<DerivedRule>> derive_rules(const std::filesystem::path& file,
                                              const std::filesystem::path& pack, int steps);

}  // namespace isomer
