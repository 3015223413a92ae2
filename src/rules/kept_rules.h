// The rules of a pack while it is made: what is proposed is kept if it does not follow from what is kept
// already, and is proved.
//
// What is neither proved nor refuted implies nothing. But what follows from it is seldom proved either, and
// takes long: it is *doubtful*, and asked after all else of its level.
#pragma once

#include <functional>
#include <set>
#include <stop_token>

#include "rules/enumerate.h"
#include "rules/prove_rule.h"

namespace isomer::rules {

// A rule that is claimed, below its name (docs/rules.md).
struct ProposedRule {
  std::string text;
  int inputs = 0;
  std::uint64_t place = 0;  // where its term was enumerated
};

// What became of the candidates of one level.
struct GenerateStage {
  int operators = 0;
  EnumerationCounts enumerated;
  std::uint64_t left_out = 0;  // candidates beyond the bound
  std::uint64_t after_renaming = 0, after_common = 0, after_derivability = 0, proved = 0, conditional = 0;
  std::uint64_t doubtful = 0, doubtful_left_out = 0;  // among those; beyond the bound
  std::map<std::string, std::uint64_t> dropped;       // cause -> candidates that no proof was found for
  double enumerate_ms = 0, propose_ms = 0, decide_ms = 0;
};

struct KeepOptions {
  int threads = 2;
  std::uint64_t most_doubtful = 10'000'000'000;  // of one level
  std::stop_token stop = {};
  std::function<void(const std::string&)> progress = {};
  std::function<RuleVerdict(const Rule&)> prove = prove_rule;
};

class KeptRules {
 public:
  explicit KeptRules(Words& words);

  // Rules as they are proposed, in this order.
  void decide(GenerateStage& stage, std::vector<ProposedRule> proposed, const KeepOptions& options);
  // What happened, so that another process can go on from here: rules that were kept, or neither proved nor
  // refuted.
  struct Event {
    std::string text;
    int operators = 0;
    bool is_kept = false;
    friend bool operator==(const Event&, const Event&) = default;
  };
  const std::vector<Event>& history() const { return history_; }
  void replay(const Event& event) { event.is_kept ? keep(event.text, event.operators) : doubt(event); }
  // The halves of one value: two rules that say what each of them is become one rule with two outputs.
  void join_halves(const KeepOptions& options);

  const EquationIndex& index() const { return index_; }
  struct Kept {
    std::string text, title;  // below its name; "": as its terms say
    int operators = 0;
    Side left, right;
    std::vector<std::string> names;  // of inputs
  };
  const std::vector<Kept>& all() const { return kept_; }
  // `run`: vocabulary and bounds (shard_text.h).
  std::string pack_text(int operators, const std::string& run, bool is_complete) const;

 private:
  struct Asked;
  Asked read(std::string text);
  void ask_all(std::vector<Asked>& batch, const KeepOptions& options) const;
  void ask(Asked& asked, const KeepOptions& options) const;
  void settle(GenerateStage& stage, Asked& asked);
  bool follows(const Asked& asked, const EquationIndex& from) const;
  void keep(const std::string& text, int operators);
  void doubt(const Event& event);
  std::string title_of(const Kept& kept) const;

  Words& words_;
  EquationIndex index_;
  EquationIndex doubtful_;  // with what is neither proved nor refuted
  std::vector<Kept> kept_;
  std::vector<Event> history_;
  std::set<std::string> texts_;  // proposed so far
};

// Decides a candidate's text; "": it is proved, else why it is dropped. Conditions that it turns out to need
// are added to the text.
std::string decide_candidate(std::string& text,
                             const std::function<RuleVerdict(const Rule&)>& prove = prove_rule);

}  // namespace isomer::rules
