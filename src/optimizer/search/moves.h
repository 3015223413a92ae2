// Moves: the operations of every strategy on a graph: run the proposers, prove, simplify.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "optimizer/search/context.h"
#include "optimizer/search/proof_memory.h"

namespace isomer {

class Moves {
 public:
  // Model: no proposal is tried twice, and the report lists what was refused. State (one of many graphs that
  // a strategy looks at): neither.
  enum class Scope : std::uint8_t { Model, State };
  explicit Moves(SearchContext& context, Scope scope = Scope::Model) : context_(context), scope_(scope) {}

  // Largest gain first. Relaxed: also what loses by itself.
  std::vector<Proposal> proposals(const Workpiece& piece, bool relaxed);
  // Those that can be proved, while there is time: for a measured model at most a share of the remaining
  // time, since proved steps should be measured too.
  std::vector<Step> proved(const StepMaker& maker, const std::vector<Proposal>& proposals);
  // Applied unconditionally: it costs nothing at run time and exposes more to the proposers.
  Result<Draft> simplified(Draft draft);
  void note_trouble(const StepMaker& maker);
  // Steps that were left out because another one took a part of their regions may be tried again: what they
  // replace may still be there.
  void allow_left_out(const std::vector<const StepGroup*>& groups, const Draft& before, const Draft& after);
  // Whether the last proofs were cut short by that: the rest is there for another round.
  bool was_cut_short() const { return was_cut_short_; }

 private:
  bool learn_from(const Workpiece& piece, const Proposals& found);  // whether anything is new of the machine
  std::variant<Step, std::string> answer(const StepMaker& maker, const Proposal& proposal);
  // For several threads.
  void prove_ahead(const StepMaker& maker, const Proposal& proposal, const std::atomic<bool>& stop) const;
  void keep_slow(const std::string& key, std::int64_t start,
                 const std::variant<Step, std::string>& step) const;
  SearchContext& context_;
  ProofMemory memory_{context_.options.cache, context_.options.seed};
  Scope scope_;
  std::set<std::string> seen_;
  bool was_cut_short_ = false;
};

}  // namespace isomer
