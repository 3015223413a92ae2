// A law as a question to the prover: two small graphs around the same call of an operator.
#pragma once

#include <optional>

#include "contract/drawn_case.h"
#include "contract/promises/promises.h"
#include "model/graph/graph.h"

namespace isomer::laws {

// How much of a drawn call's sizes is left open.
enum class Sizes : std::uint8_t {
  AllSymbolic,   // every extent of at least 2 of non-constants; equal ones are one symbol
  AxisSymbolic,  // only the axes that the law is about
  Drawn,
};

struct Question {
  Call call;            // what the law is about, at these sizes
  Graph before, after;  // where the first is defined, the second has to be
};

// nullopt: the law can't be written for this call (an operator that its opset lacks, a law about a constant
// that the call is made with).
std::optional<Question> question(const contract::DrawnCase& drawn, const Promise& promise, Sizes sizes);

}  // namespace isomer::laws
