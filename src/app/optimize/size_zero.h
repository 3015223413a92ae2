// What a result does where an open size is 0: its certificate does not cover that unless --sizes-from 0 is
// set. It is run and reported, and never a reason to reject the result.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/graph/graph.h"
#include "model/graph/interpret.h"
#include "runtime/judge/judge.h"

namespace isomer {

// Feeds with one open size as 0, others as they are, each with what to call it: "batch=0", "x[1]=0".
std::vector<std::pair<std::string, NamedTensors>> feeds_at_zero(const Graph& graph,
                                                                const NamedTensors& feeds);

struct SizeZeroRequest {
  const Graph& graph;  // of the original
  ModelSource before, after;
  const NamedTensors& feeds;
  const RuntimeOptions& runtime;
};
// Where the original runs and the result does not, or has outputs of other shapes, in words.
std::vector<std::string> compare_at_zero(Judge& judge, const SizeZeroRequest& request);

}  // namespace isomer
