// Finds inputs that a model runs on, if the user leaves sizes or values open. It tries the sizes and values
// that names and the model's own comparisons suggest, then usual sizes. Inference rejects most choices at no
// cost; the runtime runs the others.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/judge/feeds.h"

namespace isomer {

// The runtime's answer to inputs. Unknown: it can't run, or the answer would be the same for all.
struct Tried {
  enum class Kind : std::uint8_t { Runs, Refused, Unknown } kind = Kind::Unknown;
  std::string why = {};
};
using TryInputs = std::function<Tried(const NamedTensors&)>;

struct InputsWanted {
  std::vector<const Graph*> graphs;  // of models that have the same inputs
  std::vector<InferOptions> sizes;   // as given, one for each graph
  FilledInputs values = {};          // as given
  std::uint64_t seed = 0;
  TryInputs run = {};  // none: inference alone decides
};

struct FoundInputs {
  ChosenSizes sizes;
  NamedTensors tensors;
  std::string words;  // what was not given: "batch=1 was assumed; height=48 was found: ..."; or ""
};

// Error: no inputs that the model runs on were found, with what was tried and what to type.
Result<FoundInputs> find_inputs(const InputsWanted& wanted);

}  // namespace isomer
