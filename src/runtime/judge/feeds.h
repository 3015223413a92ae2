// Inputs for measuring and for comparing, where the user gives none: floats normal, integers within the range
// of what they index, else 0 and 1, masks 1. Reproducible by their seed.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/graph/infer.h"
#include "model/graph/interpret.h"

namespace isomer {

struct GeneratedFeeds {
  NamedTensors tensors;
  std::string assumed;  // the sizes that nobody gave, for people: "batch=1, sequence=128"; or ""
};

// Symbolic dimensions are as the options say, else 1 for an input's first axis and 128 for others. Inputs
// that have an initializer need no feed.
Result<GeneratedFeeds> generate_feeds(const Graph& graph, const InferOptions& options, std::uint64_t seed);

// Sizes as the options or the feeds say, or as assumed: what inference is asked with.
struct ChosenSizes {
  InferOptions options;  // a concrete shape for every input
  std::string assumed;
};
Result<ChosenSizes> choose_sizes(const Graph& graph, const InferOptions& options);

// The smallest extent that the values of an integer input index along its way through the graph; 0 where
// they index nothing that is known.
std::int64_t indexed_extent(const Graph& graph, const Inference& inference, Value input);

}  // namespace isomer
