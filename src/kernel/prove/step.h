// Steps: the changes of a graph, each by one trusted function. Any code may claim a step (a proposer, a
// certificate); only this code applies it, after a proof on the graph that it changes.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "kernel/prove/claim.h"
#include "kernel/prove/prove.h"
#include "kernel/prove/sizes.h"
#include "model/graph/graph.h"
#include "model/graph/infer.h"
#include "model/graph/names.h"

namespace isomer {

// The part of a graph that computes some values from others, as a program of its own: its inputs have the
// types that inference found. Error: a value that depends on something else.
Result<Graph> region_of(const Graph& graph, const Inference& inference, const std::vector<Value>& from,
                        const std::vector<Value>& to);

// A claim that was proved of a graph. Only `Workpiece::prove` makes one, and only that workpiece takes it.
class ProvedClaim {
 public:
  const Proved& proof() const { return proof_; }

 private:
  friend class Workpiece;
  ProvedClaim(std::shared_ptr<const void> of, Graph after, std::vector<Value> outputs, Proved proof)
      : of_(std::move(of)),
        after_(std::move(after)),
        outputs_(std::move(outputs)),
        proof_(std::move(proof)) {}
  std::shared_ptr<const void> of_;
  Graph after_;
  std::vector<Value> outputs_;
  Proved proof_;
};

// A graph under change, with what is known of its values. Claims are proved of the graph as it is, one by
// one, and any of those that were proved are applied together: each says that a value may be computed
// another way, so all may, unless values would then depend on themselves. Cheap to copy.
class Workpiece {
 public:
  static Result<Workpiece> of(Graph graph);
  const Graph& graph() const { return state_->graph; }
  const Inference& inference() const { return state_->inference; }

  // As `region_of`, by names. Error: a name that does not exist.
  Result<Graph> region(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) const;

  // The region that a claim is about, its constants as the claim's facts say, which are checked.
  Result<Graph> region(const Claim& claim) const;

  // The claim, proved, or why it is not.
  std::variant<ProvedClaim, std::string> prove(const Claim& claim, const ProveOptions& options = {},
                                               const ProofSource& ask = prove_equal) const;
  // The graph with the claims' outputs computed the new way, and what nothing reads any more gone. Error: a
  // value that is replaced twice, or that would depend on itself; a name that is used twice.
  Result<Graph> with(const std::vector<ProvedClaim>& claims) const;

 private:
  struct State {
    Graph graph;
    Inference inference;
    ValuesByName names;
    // Computed when the first claim needs it: the model's sizes, and the nodes whose values may be undefined.
    struct Judged {
      ModelSizes sizes;
      std::set<NodeId> partial;
    };
    const Judged& judged() const;

   private:
    mutable std::once_flag once_;
    mutable Judged judged_;
  };
  explicit Workpiece(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::optional<std::string> add_context(const Graph& before, const Graph& after,
                                         ProveOptions& options) const;
  std::shared_ptr<const State> state_;
};

// One claim, proved of a graph and applied; or why not.
std::variant<Graph, std::string> prove_claim(const Graph& graph, const Claim& claim,
                                             const ProveOptions& options = {});

// The known value before anything runs: an integer tensor or a small one that follows from constants and
// known extents.
std::optional<Tensor> known_value(const Inference& inference, Value value);

// The graph with these values, which are known, or depend on constants only, computed: floats in float64 and
// rounded once, but what jumps or is cast to a narrower float in the arithmetic of the stored types. Error: a
// value that depends on digits about which runtimes may disagree.
// The same bytes on every machine of one kind of arithmetic.
inline constexpr std::string_view kFoldedSuffix = "_folded";  // of the constant that a value becomes
Result<Graph> fold_constants(const Graph& graph, const std::vector<std::string>& values);

}  // namespace isomer
