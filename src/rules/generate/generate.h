// Generates rules: enumerates, generalises, prunes and proves them by both witnesses, and writes a pack.
//
// It works level by level, by the number of operators. Consequences of kept rules are skipped: an enumerated
// term that they turn into a known one is not computed, and a candidate that follows from them in a few steps
// is dropped. A candidate that is not proved for all sizes is counted, dropped, and implies nothing.
//
// The last level can be divided between processes: each proposes rules for its shapes (propose_shard), and
// one decides them all (merge_shards). A run of one process is the same with one shard.
#pragma once

#include "rules/generate/shard_text.h"

namespace isomer::rules {

struct GenerateOptions {
  int operators = 2;  // of either side, at most
  int threads = 2;
  std::uint64_t most_terms = 10'000'000'000;     // of one level
  std::uint64_t most_candidates = 400'000;       // of one level, those of most inputs first
  std::uint64_t most_doubtful = 10'000'000'000;  // of one level: what follows from what is not decided
  std::vector<std::string> only = {};            // operators; none: all of the vocabulary
  std::stop_token stop = {};
  std::function<void(const std::string&)> progress = {};
  std::function<RuleVerdict(const Rule&)> prove = prove_candidate;
  // All levels that are decided so far, after each but the last; and those of a run that was stopped, which
  // are not decided again (is_shard_of: of no shard). Null: none.
  std::function<void(const ShardText&)> on_level = {};
  const ShardText* begun = nullptr;
};

struct GeneratedPack {
  std::vector<GenerateStage> stages;
  std::size_t rules = 0;
  bool is_complete = true;  // not stopped, and no bound left anything out
  std::string text;
};

GeneratedPack generate_rules(const GenerateOptions& options);

// The result of one process: the rules of all levels but the last, the same in every shard, and its
// candidates for the last one. nullopt: stopped.
std::optional<ShardText> propose_shard(const GenerateOptions& options, Shard shard);

// Whether a shard is this one of the run that the options describe; no shard: levels that were decided.
constexpr Shard kNoShard{.index = 0, .of = 0};
bool is_shard_of(const ShardText& text, const GenerateOptions& options, Shard shard);

// All shards of one run, in any order. Threads, progress and stop are taken from the options. Error: one is
// missing, or they are of different runs.
Result<GeneratedPack> merge_shards(std::vector<ShardText> shards, const GenerateOptions& options);

}  // namespace isomer::rules
