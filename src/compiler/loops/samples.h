// Batches whose size is known only when a model runs: whether every sample can be computed independently.
//
// A model qualifies if outputs at position b of their first axis depend on inputs at position b of theirs, in
// the same way for every b and every size of the batch. It is compiled for one sample and run for each. This
// is decided on the formulas, with the size of the batch as a symbol; an undecided model is rejected.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "model/graph/graph.h"
#include "model/graph/infer.h"

namespace isomer::lower {

struct Batch {
  std::string name = {};              // of its size, as the model has it
  InferOptions one = {};              // the sizes of one sample
  std::set<std::string> inputs = {};  // whose first axis is the batch
};

// The batch whose size `sizes` leaves open; nullopt: no size is open. Error: one is open that can't be given
// when the model runs, and why.
Result<std::optional<Batch>> open_batch(const Graph& graph, const InferOptions& sizes);

// The batch of images whose other sizes are open, too; nullopt: there is none, or samples depend on each
// other. One by one, each stays in the caches, and runs as a single image does.
struct ImageBatch {
  std::string name = {};
  std::set<std::string> inputs = {};
};
std::optional<ImageBatch> image_batch(const Graph& graph, const Inference& inference);

// The option for an input with an open size: "--shape x=Nx3xHxW".
std::string shape_option(const std::string& input, const std::optional<Dims>& shape);

}  // namespace isomer::lower
