// The result of one of several processes (generate.h), as text: comments, and rules as in any pack.
#pragma once

#include "rules/generate/kept_rules.h"

namespace isomer::rules {

struct ShardText {
  std::string run;  // vocabulary and bounds: the same in all shards of a run
  Shard shard;
  int operators = 0;
  std::uint64_t most_candidates = 0, most_doubtful = 0;  // of all shards
  std::vector<GenerateStage> stages;                     // the last one as far as the shard has it
  std::vector<KeptRules::Event> history;                 // of the levels before
  struct Proposed {
    std::string text;  // at the sizes at which it was found
    int inputs = 0;
    std::uint64_t place = 0;  // where its term was enumerated
  };
  std::vector<Proposed> proposed;

  std::string text() const;
  // Error: it is no shard, or it ends too early.
  static Result<ShardText> parse(std::string_view text);
};

}  // namespace isomer::rules
