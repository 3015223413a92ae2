// The laws that proposers use, for people: one formula and one sentence for each. Which of them holds where
// is the prover's to say; this is only how a report names it.
#pragma once

#include <string_view>
#include <vector>

namespace isomer {

struct Law {
  std::string_view kind;     // the proposer's name
  std::string_view title;    // "linear regions as one node"
  std::string_view formula;  // in Unicode
  std::string_view says;     // one sentence
};

const std::vector<Law>& laws();
// Of a kind that nobody knows: the one that is true of every step.
const Law& law_of(std::string_view kind);

}  // namespace isomer
