// Matches of a rule's pattern in a graph: the values of its variables and words there.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "optimizer/facts/site.h"
#include "rules/text/pattern_net.h"

namespace isomer {

struct RuleMatch {
  std::shared_ptr<const rules::Pattern> pattern;
  std::vector<Value> outputs;      // for those of pattern->from
  std::map<int, Value> variables;  // by number
  std::map<int, NodeId> words;     // by number; of several nodes that apply it, the first
  std::map<Value, Value> biases;   // of convolutions that were matched without them, by their weights
};

// All matches of the net's patterns at a value, where it is the first output. Siblings, outputs of one
// pattern that share a variable, are all found.
std::vector<RuleMatch> matches_at(const Site& site, const rules::PatternNet& net, Value value);

}  // namespace isomer
