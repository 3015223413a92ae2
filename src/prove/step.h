// Steps: what may be done to a graph, each by one function that is trusted. A step is claimed by anyone (a
// proposer, a certificate); it is taken only here, after it was proved on the graph that it changes.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "graph/infer.h"
#include "prove/proof_cache.h"

namespace isomer {

// "These values may be computed from those as this program does." Values by name.
struct Claim {
  std::vector<std::string> inputs;   // where the region begins; constants need not be named
  std::vector<std::string> outputs;  // what is replaced
  // A program of the same outputs, by position. Its inputs are the region's, or constants of the model, by
  // name; the names of the values that it makes are new.
  Graph after;
};

// The part of a graph that computes some values from others, as a program of its own: its inputs have the
// types that inference found. Error: a name that does not exist, a value that depends on something else.
Result<Graph> region_of(const Graph& graph, const Inference& inference,
                        const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

// A claim that was proved of a graph. Only `prove_claim` makes one.
class ProvedStep {
 public:
  // The graph with the outputs computed the new way, and what nothing reads any more gone.
  const Graph& result() const { return result_; }
  const Proved& proof() const { return proof_; }

 private:
  friend std::variant<ProvedStep, std::string> prove_claim(const Graph&, const Claim&, const ProveOptions&,
                                                           ProofCache*);
  ProvedStep(Graph result, Proved proof) : result_(std::move(result)), proof_(std::move(proof)) {}
  Graph result_;
  Proved proof_;
};

// The step, or why it is not taken.
std::variant<ProvedStep, std::string> prove_claim(const Graph& graph, const Claim& claim,
                                                  const ProveOptions& options = {},
                                                  ProofCache* cache = nullptr);

// The graph with these values, which depend on constants only, computed: floats in float64 and rounded once.
// The same bytes on every machine of one kind of arithmetic.
Result<Graph> fold_constants(const Graph& graph, const std::vector<std::string>& values);

}  // namespace isomer
