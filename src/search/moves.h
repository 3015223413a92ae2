// Moves: what every strategy does with a graph: ask the proposers, prove, simplify.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "search/search.h"

namespace isomer {

class Moves {
 public:
  // Model: no proposal is tried twice, and the report lists what was refused. State (one of many graphs that a
  // strategy looks at): neither.
  enum class Scope : std::uint8_t { Model, State };
  explicit Moves(SearchContext& context, Scope scope = Scope::Model) : context_(context), scope_(scope) {}

  // Largest gain first. Relaxed: also what loses by itself.
  std::vector<Proposal> proposals(const Workpiece& piece, bool relaxed);
  // Those that can be proved, while there is time: of a model that is measured, not more than a share of what
  // is left of it, since what was proved should be measured, too.
  std::vector<Step> proved(const StepMaker& maker, const std::vector<Proposal>& proposals);
  // Applied unconditionally: it costs nothing at run time and exposes more to the proposers.
  Result<Draft> simplified(Draft draft);
  void note_trouble(const StepMaker& maker);
  // Whether the last proofs were cut short by that: the rest is there for another round.
  bool was_cut_short() const { return was_cut_short_; }

 private:
  std::string note_key(const StepMaker& maker, const Proposal& proposal) const;
  std::optional<std::string> known_refusal(const std::string& key) const;
  SearchContext& context_;
  Scope scope_;
  std::set<std::string> seen_;
  bool was_cut_short_ = false;
};

}  // namespace isomer
