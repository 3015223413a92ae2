// Sizes that are known only when a model runs: names in the shapes of its inputs.
//
// A module for them is given the sizes with every run, each at least 1, and computes the same as a module
// that was compiled for these. Which sizes the model does not run at is seen in what its formulas need: a
// table of 512 positions that is cut to the length of a sequence bounds that, and an image is not smaller
// than a window. Where a tensor is halved and doubled again, sizes go by steps, which are found by trying.
#pragma once

#include "base/result.h"
#include "compiler/loops/nest.h"
#include "model/graph/graph.h"
#include "model/graph/infer.h"

namespace isomer::lower {

// A size is at most this, so that products with small numbers fit an integer of 32 bits.
inline constexpr int kSizeBits = 24;
inline constexpr std::int64_t kMostSize = std::int64_t{1} << kSizeBits;
// `options` with that.
InferOptions within_sizes(InferOptions options);

// The sizes that `options` leave open. Error: one can't be given when the model runs, and why.
Result<Sizes> open_sizes(const Graph& graph, const InferOptions& options);

// The same graph with other sizes in the shapes of its inputs.
Graph with_substituted_inputs(const Graph& graph, const Inference& inference, const Dim::Substitution& by);

// The same number, and the same expression, simplified with what is known of the sizes: their bounds.
Dim within(const Dim& dim, const Sizes& sizes);
Expr within(const Expr& expr, const Sizes& sizes);
// The same number, of sizes as a run is given them.
Dim as_given(const Dim& dim, const Sizes& sizes);
// The graph with inputs whose shapes say that sizes go by steps, and of one sample where these are computed
// one by one.
Graph with_steps(const Graph& graph, const Inference& inference, const Sizes& sizes);
// A symbol in it that is none of the sizes, as those that depend on values are; nullopt: there is none.
std::optional<std::string> unknown_size(const Dim& dim, const Sizes& sizes);
std::optional<std::string> unknown_size(const Expr& expr, const Sizes& sizes);

// An assumption of a formula that does not hold at all of these sizes; nullopt: all hold.
std::optional<Dim> open_condition(const Formula& formula, const Sizes& sizes);

}  // namespace isomer::lower
