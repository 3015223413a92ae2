// The rules of a pack while it is made: a proposed rule is kept if it does not follow from the kept rules,
// and is proved.
//
// The cheapest test comes first: whether it follows at the sizes at which it was found, by equations that
// hold for all sizes. Only other candidates are generalised to all sizes, tested again there, and proved.
//
// A candidate that is neither proved nor refuted implies nothing. A candidate that follows from it is seldom
// proved either, and slow: it is *doubtful*, and decided after all others of its level.
#pragma once

#include <functional>
#include <set>
#include <stop_token>

#include "rules/generate/derive.h"
#include "rules/generate/enumerate.h"
#include "rules/text/prove_rule.h"

namespace isomer::rules {

// A rule that is claimed of the sizes at which it was found. The name of an input begins with the letter of
// its family.
struct ProposedRule {
  Side left, right;
  std::vector<std::string> names;  // of inputs
};
// By number, from any thread.
struct ProposedRules {
  std::size_t count = 0;
  std::function<ProposedRule(std::size_t)> at;
};

// The counts of the candidates of one level.
struct GenerateStage {
  int operators = 0;
  EnumerationCounts enumerated;
  std::uint64_t left_out = 0;  // candidates beyond the bound
  std::uint64_t after_renaming = 0, after_common = 0, after_derivability = 0, proved = 0, conditional = 0;
  std::uint64_t doubtful = 0, doubtful_left_out = 0;  // among those; beyond the bound
  std::map<std::string, std::uint64_t> dropped;       // cause -> candidates that no proof was found for
  // Processor time of all threads.
  std::uint64_t enumerate_ms = 0, propose_ms = 0, decide_ms = 0;
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

  // Candidates that do not follow from the kept rules, by number.
  std::vector<std::size_t> new_ones(GenerateStage& stage, const ProposedRules& proposed,
                                    const KeepOptions& options);
  // Rules as they are proposed, in this order.
  void decide(GenerateStage& stage, const ProposedRules& proposed, const KeepOptions& options);
  // A proposed rule as text, below its name (docs/reference/rules.md), and from there.
  std::string text_of(const ProposedRule& rule) const;
  Result<ProposedRule> proposed_of(const std::string& text);
  // The state from which another process can continue: rules that were kept, or neither proved nor refuted.
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
  template <class Work>
  void in_parallel(std::size_t count, const KeepOptions& options, const Work& work);
  // Steps in which it follows at its sizes by general equations; nullopt: it does not.
  std::optional<std::size_t> steps_to(const ProposedRule& rule, ShapeMemory& memory) const;
  // A thread's cache of shapes.
  struct Memories {
    ShapeMemory kept, doubtful;
  };
  void ask(Asked& asked, Memories& memories, const KeepOptions& options) const;
  void read(Asked& asked) const;
  void settle(GenerateStage& stage, Asked& asked);
  bool follows(const Asked& asked, const EquationIndex& from, ShapeMemory& memory) const;
  void keep(const std::string& text, int operators);
  void doubt(const Event& event);
  std::string title_of(const Kept& kept) const;

  Words& words_;
  EquationIndex index_;
  EquationIndex doubtful_;                                   // with what is neither proved nor refuted
  std::deque<Memories> memories_ = std::deque<Memories>(1);  // by thread
  std::vector<Kept> kept_;
  std::vector<Event> history_;
  std::set<std::string> texts_;  // decided so far
};

// Decides a candidate's text; "": it is proved, else why it is dropped. Conditions that it turns out to need
// are added to the text.
std::string decide_candidate(std::string& text,
                             const std::function<RuleVerdict(const Rule&)>& prove = prove_rule);

}  // namespace isomer::rules
