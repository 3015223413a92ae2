// How far last digits of constants reach. If a constant is known except for these, so is everything that is
// computed from it, as long as functions are continuous and defined around it. It names the node where that
// ends.
#pragma once

#include <map>

#include "model/graph/infer.h"

namespace isomer {

// A constant that is known but for its last digits; signs and zeros are known.
struct RoundedConstant {
  bool has_cancelled = false;  // larger terms have cancelled in it: less than ten binary digits may be left
};

// A node on the way to the outputs, or to where a run may fail, at which other last digits of these constants
// may make more than other last digits: it takes one by value (a scale that is an extent, an exponent), it
// jumps, or it has a function that may not be defined near by. nullptr: there is none.
const Node* first_jump(const Graph& graph, const Inference& inference,
                       const std::map<Value, RoundedConstant>& rounded);

}  // namespace isomer
