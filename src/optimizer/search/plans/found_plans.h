// From the steps of a search to plans for other models: related steps, as steps of the region that they
// change.
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

// Plans for the model that the draft began with. Steps that are not steps of one region are left out. The
// plans name no value of the model.
std::vector<FoundPlan> plans_in(const Workpiece& original, const Draft& draft, const std::string& by);

}  // namespace isomer
