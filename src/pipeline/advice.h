// Advice: what the owner of a model could gain without another model, by an option of the runtime. Measured
// and told, never done: such options change what is computed.
#pragma once

#include <string>
#include <vector>

#include "runtime/judge.h"

namespace isomer {

struct Advice {
  std::string option, value;  // as the runtime spells them
  double ratio = 1;           // times faster with it
  std::string why;
};

// At most so many seconds; what takes longer to find out is not asked.
std::vector<Advice> advice_for(const ModelSource& model, const NamedTensors& feeds,
                               const WorkerOptions& worker, const RuntimeOptions& options, double seconds);

}  // namespace isomer
