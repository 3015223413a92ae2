// Moves: what every strategy does with a graph: ask the proposers, prove, simplify.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "search/search.h"

namespace isomer {

class Moves {
 public:
  // Of a whole model: nothing is tried twice, and refusals are told. Of one of many states: neither.
  enum class Of : std::uint8_t { Model, State };
  explicit Moves(SearchContext& context, Of of = Of::Model) : context_(context), of_(of) {}

  // Largest gain first. Relaxed: also what loses by itself.
  std::vector<Proposal> proposals(const Workpiece& piece, bool relaxed);
  // Those that can be proved, while there is time.
  std::vector<Step> proved(const StepMaker& maker, const std::vector<Proposal>& proposals);
  // Nothing of this is for sale: it costs nothing and lets the proposers see more.
  Result<Draft> simplified(Draft draft);
  void note_trouble(const StepMaker& maker);

 private:
  SearchContext& context_;
  Of of_;
  std::set<std::string> seen_;
};

}  // namespace isomer
