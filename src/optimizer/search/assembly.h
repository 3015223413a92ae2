// Assembly: chooses which of the proved steps to apply; the runtime decides by measuring. Each group of equal
// steps is measured once, alone in its context (cheap and precise); the good ones together in the whole
// model; if that is slower, each half by itself.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "optimizer/search/context.h"

namespace isomer {

class Assembly {
 public:
  explicit Assembly(SearchContext& context) : context_(context) {}
  // The draft with the groups that are faster; the draft as it is if none is.
  Draft choose(const Draft& draft, StepMaker& maker, std::vector<StepGroup>& groups) {
    measure(maker, groups);
    return assemble(draft, maker, ranked());
  }
  // Whether the whole model gets faster by it; with no time left, no.
  bool is_faster(const Draft& before, const Draft& after);

 private:
  // Groups by how their regions were measured, alone in their context.
  struct Ranked {
    std::vector<const StepGroup*> faster;   // the most time saved first
    std::vector<const StepGroup*> unknown;  // there was no time to measure
  };
  void measure(const StepMaker& maker, std::vector<StepGroup>& groups);
  Ranked ranked() const;
  Draft assemble(const Draft& best, StepMaker& maker, const Ranked& ranked);
  bool is_too_large(const Draft& draft) const;
  // nullopt: there was no time to find out.
  std::optional<bool> is_better(const ScratchModel& a, const ScratchModel& b, bool is_promising);
  std::unique_ptr<ScratchModel> scratch(const Draft& draft) const;

  SearchContext& context_;
  std::vector<std::pair<double, const StepGroup*>> faster_;  // with the time that it saves
  std::vector<const StepGroup*> unknown_;
  std::map<std::string, std::pair<int, int>> kin_;  // by kind of change: groups that were faster, and slower
};

}  // namespace isomer
