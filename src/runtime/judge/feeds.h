// Generated inputs for measuring and for comparing: floats are normal, integers lie within the range that
// they index, else they are 0 and 1, masks are 1, lengths equal the length of their tensor. Reproducible by
// their seed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/graph/infer.h"
#include "model/graph/interpret.h"
#include "runtime/judge/open_sizes.h"

namespace isomer {

// Numbers that inputs are filled with.
using FilledInputs = std::map<std::string, double, std::less<>>;

struct GeneratedFeeds {
  NamedTensors tensors;
  std::string assumed;  // the sizes that were assumed, for display: "batch=1, sequence=128"; or ""
};

// Inputs at default sizes. Inputs that have an initializer need no feed.
Result<GeneratedFeeds> generate_feeds(const Graph& graph, const InferOptions& options, std::uint64_t seed);
// At sizes that were chosen. inference: of the graph at these; nullptr: there is none, and ids are 0 and 1.
Result<NamedTensors> draw_feeds(const Graph& graph, const ChosenSizes& sizes, const Inference* inference,
                                const FilledInputs& filled, std::uint64_t seed);

// A tensor of one number; nullopt: the type does not have it, or no number at all.
std::optional<Tensor> filled_tensor(ElementType type, const Extents& extents, double number);

// The smallest extent that the values of an integer input index along its way through the graph; 0 where
// they index nothing that is known.
std::int64_t indexed_extent(const Graph& graph, const Inference& inference, Value input);

}  // namespace isomer
