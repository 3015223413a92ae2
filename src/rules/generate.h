// Rules that nobody wrote: enumerated, generalised, pruned, proved by both witnesses, and written as a pack.
//
// Level by level of the number of operators. What the rules kept so far imply is not asked again: an
// enumerated term that one of them turns into a known one is not even computed, a candidate that follows from
// them in a few steps is dropped. What is not proved for all sizes is counted and dropped.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "rules/enumerate.h"
#include "rules/prove_rule.h"

namespace isomer::rules {

struct GenerateOptions {
  int operators = 2;  // of either side, at most
  int threads = 2;
  std::uint64_t most_terms = 100'000'000;  // of one level
  std::uint64_t most_candidates = 40'000;  // of one level, those of most inputs first
  std::vector<std::string> only = {};      // operators; none: all of the vocabulary
  std::stop_token stop = {};
  std::function<void(const std::string&)> progress = {};
};

// What became of the candidates of one level.
struct GenerateStage {
  int operators = 0;
  EnumerationCounts enumerated;
  std::uint64_t left_out = 0;  // candidates beyond the bound
  std::uint64_t after_renaming = 0, after_common = 0, after_derivability = 0, proved = 0, conditional = 0;
  std::map<std::string, std::uint64_t> dropped;  // cause -> candidates that no proof was found for
  double enumerate_ms = 0, decide_ms = 0;
};

struct GeneratedPack {
  std::vector<GenerateStage> stages;
  std::size_t rules = 0;
  bool is_complete = true;  // not stopped, and no bound left anything out
  std::string text;
};

GeneratedPack generate_rules(const GenerateOptions& options);

// Decides a candidate's text; "": it is proved, else why it is dropped. Conditions that it turns out to need
// are added to the text.
std::string decide_candidate(std::string& text,
                             const std::function<RuleVerdict(const Rule&)>& prove = prove_rule);

}  // namespace isomer::rules
