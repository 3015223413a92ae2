// A model with changed last digits: the distance of its outputs from the model's own is the effect of
// rounding alone. After a quantiser, a comparison or a Floor that is a whole step. Internal to compile.cpp.
#pragma once

#include <cstdint>

#include "isomer/isomer.h"
#include "model/graph/graph.h"

namespace isomer::api {

// Whether a node jumps: a small change of its inputs can be a large change of its outputs.
bool has_jumps(const Graph& graph);

// Its float32 constants, each a few units in the last place larger or smaller; whole numbers stay, since
// what is compared with them is often one.
Model with_nudged_constants(const Model& model, std::uint64_t seed);

}  // namespace isomer::api
