// Unit: nests of a plan with an independent schedule: one sum of products, or a chain of nests that may go
// strip by strip. Nests and buffers have numbers in place of names (n0, n1, ...; x0, x1, ...), so that equal
// units of other layers and other models have the same text, and a fast schedule of one holds for all of
// them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/loops/compose.h"
#include "compiler/loops/nest.h"
#include "compiler/loops/samples.h"
#include "compiler/schedule/layout.h"
#include "model/graph/graph.h"
#include "model/graph/infer.h"

namespace isomer::lower {

struct Unit {
  Plan plan;  // laid out, not yet scheduled; without values
  AxisNumbers numbers;
  std::vector<std::size_t> nests;  // of the plan that it is of
  std::string given;               // lines that it has already; others are compared with it so
  std::string key;                 // of its function, its memory and its default choices: 32 digits
};

// All of a plan that is laid out, in order; those that have no choice are left out.
std::vector<Unit> units_of(const Plan& plan, Exactness exactness);
// The same of a graph.
Result<std::vector<Unit>> units_of(const Graph& graph, const InferOptions& sizes,
                                   const std::optional<Batch>& batch, Exactness exactness);

// Scheduled as these lines say ("": by default), placed and found legal. Values of other nests are inputs.
// Error: why not.
Result<Plan> scheduled(const Unit& unit, const std::string& lines, Exactness exactness);

// Lines for units, by their keys.
using TunedLines = std::map<std::string, std::string, std::less<>>;
// The same as lines for nests of the plan. Left out: units that `own` speaks of, and names that several nests
// have.
Schedules as_schedules(const TunedLines& tuned, const std::vector<Unit>& units, const Plan& plan,
                       const Schedules& own);

// C++ of schedules that run by turns, as a module NAME (module.h) with one input, float: seconds; and one
// output, float64 [plans, kTimedRounds]: nanoseconds of CPU time, 0 where there was no time left. Weights are
// cold: each run has others. Exactness: of all plans.
inline constexpr std::int64_t kTimedRounds = 31;
std::string timing_text(const std::vector<const Plan*>& plans, const std::string& name, Exactness exactness);

}  // namespace isomer::lower
