// Times schedules of units by turns, in the process of a runtime: one library that has all of them.
#pragma once

#include <string>
#include <vector>

#include "compiler/emit/compile_module.h"
#include "compiler/loops/nest.h"
#include "runtime/judge/judge.h"

namespace isomer {

// Nanoseconds by plan, then by round; rounds that not all plans had time for are left out. `compile`: its
// name and folder are the library's; the folder is removed.
Outcome<std::vector<std::vector<double>>> time_plans(Judge& judge,
                                                     const std::vector<const lower::Plan*>& plans,
                                                     const CompileRequest& compile, RuntimeOptions runtime,
                                                     double seconds);

}  // namespace isomer
