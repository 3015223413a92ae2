// Proposal: a rewrite that someone thinks of. Nothing here is trusted: a wrong one costs time, never
// correctness.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernel/prove/claim.h"
#include "model/graph/infer.h"
#include "optimizer/facts/machine.h"

namespace isomer {

struct Proposal {
  std::string kind;                // who proposes: "collapse"
  std::string what;                // for people: "7 nodes linear in relu_3 are one 3x3 convolution"
  Claim claim;                     // no outputs: nothing is replaced, only folded
  std::vector<std::string> folds;  // values of the new program that become constants
  double gain = 0;  // what it saves, by the analytic cost: in the unit of optimizer/facts/machine.h
  // Equal over the reals, but not by reordering sums: to be taken only where its error is known.
  bool rounds_otherwise = false;
  // Values whose nodes compute in float32 (kernel/prove/widen.h); then there is no claim.
  std::vector<std::string> widens = {};
};

struct Proposals {
  void add(std::optional<Proposal> proposal) {
    if (proposal) list.push_back(std::move(*proposal));
  }
  std::vector<Proposal> list;
  std::vector<std::string> declined;  // regions that were looked at, each with why nothing is proposed
};

struct ProposeOptions {
  bool any_price = false;              // also what the analytic cost says no to
  bool relaxed = false;                // also what only makes room for other steps
  std::set<std::string> without = {};  // names of proposers that are not asked
  const Machine* machine = &unknown_machine();
};

// Constants computed, arithmetic of known shapes, nodes that change nothing, nodes that compute the same.
Proposals propose_simplify(const Graph& graph, const Inference& inference,
                           const ProposeOptions& options = {});

// A region that is linear in one activation as one convolution or matrix product. Largest regions first.
// `any_price`: also where the analytic cost says no.
Proposals propose_collapse(const Graph& graph, const Inference& inference,
                           const ProposeOptions& options = {});

// What makes tensors smaller (slices, means, pools) done earlier, what makes them larger later.
Proposals propose_commute(const Graph& graph, const Inference& inference, const ProposeOptions& options = {});

// Sums and chains of products in another order, siblings as one.
Proposals propose_reassociate(const Graph& graph, const Inference& inference,
                              const ProposeOptions& options = {});

// Dense 3x3 convolutions with fewer multiplications.
Proposals propose_bilinear(const Graph& graph, const Inference& inference,
                           const ProposeOptions& options = {});

// Forms that a runtime runs faster. Bets: their gain is what the analytic cost says, mostly a loss.
Proposals propose_fastpath(const Graph& graph, const Inference& inference,
                           const ProposeOptions& options = {});

// What the bytes of constant weights show: zeros, equal slices, blocks, one number per column, kernels that
// are products.
Proposals propose_structure(const Graph& graph, const Inference& inference,
                            const ProposeOptions& options = {});

// Small steps that make room for others: a kernel enlarged to its sibling's size, a normalization as a
// convolution, equal convolutions that are added as one. Some lose by themselves.
Proposals propose_relax(const Graph& graph, const Inference& inference, const ProposeOptions& options = {});

}  // namespace isomer
