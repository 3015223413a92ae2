// Claims about a graph, from a proposer or a certificate. step.h decides which claims are accepted.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kernel/prove/constant_fact.h"
#include "model/graph/graph.h"

namespace isomer {

// "These values may be computed from those as this program does." Values by name.
struct Claim {
  std::vector<std::string> inputs;   // where the region begins; constants need not be named
  std::vector<std::string> outputs;  // what is replaced
  // A program of the same outputs, by position. Its inputs are the region's, or constants of the model, by
  // name; the names of the values that it makes are new.
  Graph after;
  std::optional<int> attempt =
      {};  // the attempt that proved it (prove.cpp has the list); none: all are tried
  // Facts about constants that the region reads; the proof uses these programs in their place.
  std::vector<ConstantFact> facts = {};
};

// "These values, which depend on constants only, may be computed now."
struct FoldStep {
  std::vector<std::string> values;
};
// "The nodes that make these values may compute in float32": see widen.h.
struct WidenStep {
  std::vector<std::string> values;
};
// "The denormal numbers of these constants are zero": not equal over the reals, and stated; see flush.h.
struct FlushStep {
  std::vector<std::string> constants;
};
using CertifiedStep = std::variant<Claim, FoldStep, WidenStep, FlushStep>;

}  // namespace isomer
