// Proposal: a rewrite that someone thinks of. Nothing here is trusted: a wrong one costs time, never
// correctness.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "prove/step.h"

namespace isomer {

struct Proposal {
  std::string kind;                // who proposes: "collapse"
  std::string what;                // for people: "7 nodes linear in relu_3 are one 3x3 convolution"
  Claim claim;                     // no outputs: nothing is replaced, only folded
  std::vector<std::string> folds;  // values of the new program that become constants
  double gain = 0;                 // operations saved, by the analytic cost
  // Equal over the reals, but not by reordering sums: to be taken only where its error is known.
  bool rounds_otherwise = false;
};

struct Proposals {
  void add(std::optional<Proposal> proposal) {
    if (proposal) list.push_back(std::move(*proposal));
  }
  std::vector<Proposal> list;
  std::vector<std::string> declined;  // regions that were looked at, each with why nothing is proposed
};

// Constants computed, arithmetic of known shapes, nodes that change nothing, nodes that compute the same.
Proposals propose_simplify(const Graph& graph, const Inference& inference, bool any_price = false);

// A region that is linear in one activation as one convolution or matrix product. Largest regions first.
// `any_price`: also where the analytic cost says no.
Proposals propose_collapse(const Graph& graph, const Inference& inference, bool any_price = false);

// What makes tensors smaller (slices, means, pools) done earlier, what makes them larger later.
Proposals propose_commute(const Graph& graph, const Inference& inference, bool any_price = false);

// Sums and chains of products in another order, siblings as one.
Proposals propose_reassociate(const Graph& graph, const Inference& inference, bool any_price = false);

// Dense 3x3 convolutions with fewer multiplications.
Proposals propose_bilinear(const Graph& graph, const Inference& inference, bool any_price = false);

// Forms that a runtime runs faster. Bets: their gain is what the analytic cost says, mostly a loss.
Proposals propose_fastpath(const Graph& graph, const Inference& inference, bool any_price = false);

// Small steps that make room for others: a kernel enlarged to its sibling's size, a normalization as a
// convolution, equal convolutions that are added as one. Some lose by themselves.
Proposals propose_relax(const Graph& graph, const Inference& inference, bool any_price = false);

}  // namespace isomer
