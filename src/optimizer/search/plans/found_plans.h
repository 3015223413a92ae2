// From what a search did to a model to plans for others: steps that have to do with each other, as steps of
// the region that they change.
#pragma once

#include <string>
#include <vector>

#include "optimizer/plans/plan.h"
#include "optimizer/search/steps.h"

namespace isomer {

struct FoundPlan {
  std::string anchor;  // optimizer/plans/places.h
  Plan plan;
  double ratio = 0;  // the largest that was measured of its steps; 0: none was
};

// Of the model that the draft began with. What can't be told as steps of one region is left out. Nothing in
// them names a value of the model.
std::vector<FoundPlan> plans_in(const Workpiece& original, const Draft& draft, const std::string& by);

}  // namespace isomer
