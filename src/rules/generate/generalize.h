// From two terms that are equal at a few sizes to a rule that claims it for all sizes: every extent of an
// input becomes a symbol, and inference determines which of them have to be equal for both sides to be well
// formed.
//
// If an equation can be solved in several ways, the instances at which the terms were found decide. The
// result is only a claim: prove_rule decides.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/result.h"
#include "rules/generate/term.h"

namespace isomer::rules {

struct GeneralInput {
  std::string name;
  bool is_weight = false;               // the extents of its kernel stay numbers
  std::array<Extents, 2> extents = {};  // in the two instances
};

// "given ...\nleft ...\nright ..." (docs/reference/rules.md). Where all is elementwise, for tensors of every
// rank up to 4. Error: why the sides fit at no general sizes.
Result<std::string> general_rule(const Words& words, const std::vector<Term>& left,
                                 const std::vector<Term>& right, const std::vector<GeneralInput>& inputs);

}  // namespace isomer::rules
