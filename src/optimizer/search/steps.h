// Steps that were proved of a graph, in groups of equals: what assembly chooses from.
#pragma once

#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "kernel/prove/step.h"
#include "optimizer/facts/proof_cache.h"
#include "optimizer/facts/proposal.h"
#include "optimizer/propose/change.h"
#include "optimizer/search/load_demands.h"

namespace isomer {

struct Step {
  Proposal proposal;
  std::vector<ProvedClaim> claims;  // one; none if it only folds
  Graph region;                     // what it replaces
  std::set<std::string> replaced;   // values that the region computes
  Change change;
  std::string label = {};  // of its group; or its kind
  int fewer = 0;           // nodes
  double ratio = 0;        // what it gained in its context; 0: not measured
};

// Steps that do the same to equal regions at several places: they have the same gain.
struct StepGroup {
  std::string what;  // label_of their change
  std::vector<Step> steps;
  double gain = 0;  // of all, by the analytic cost
};

// A graph on its way, and how it came to be.
struct Draft {
  Graph graph;
  std::vector<CertifiedStep> steps = {};
  struct Taken {
    Change change;
    std::string what, label;  // in the words of its proposer; of its group
    int fewer = 0;            // nodes
    double ratio = 0;         // what it gained in its context; 0: not measured
    bool is_claim = true;     // otherwise it only folds
  };
  std::vector<Taken> taken = {};
  // Constants that were computed on the way, each with the program that computes it from those there were.
  struct Folded {
    Tensor value;
    Graph program;
  };
  std::vector<Folded> folded = {};
  // Denormal numbers of the model's constants that are zero; a sum of products with them changes by no more
  // than the bound, of its largest other factor.
  struct Flushed {
    std::uint64_t numbers = 0;
    double bound = 0;
  };
  Flushed flushed = {};
};

// What makes a file large.
std::uintmax_t bytes_of_constants(const Graph& graph);

class StepMaker {
 public:
  // `stop`: if set, no further attempt at a proof is begun.
  StepMaker(Workpiece piece, ProofCache& proofs, std::uint64_t key, const std::atomic<bool>* stop = nullptr)
      : piece_(std::move(piece)), demands_(piece_.graph()), proofs_(proofs), key_(key), stop_(stop) {}

  const Workpiece& piece() const { return piece_; }
  // The step, proved; or why not.
  std::variant<Step, std::string> prove(const Proposal& proposal) const {
    return prove(proposal, proofs_.source());
  }
  std::variant<Step, std::string> prove(const Proposal& proposal, const ProofSource& ask) const;
  // The draft with these steps, as many as go together: a step whose region another one has taken, or that
  // would close a circle, is left out.
  Draft with(const Draft& draft, const std::vector<const Step*>& steps);
  const std::vector<std::string>& trouble() const { return trouble_; }  // why steps were left out

 private:
  std::variant<Step, std::string> widened(Step step) const;
  Result<Draft> together(const Draft& draft, const std::vector<const Step*>& steps) const;
  Workpiece piece_;
  LoadDemands demands_;
  ProofCache& proofs_;
  std::uint64_t key_;
  const std::atomic<bool>* stop_;
  std::vector<std::string> trouble_;
};

// In the order of their gain.
std::vector<StepGroup> grouped(std::vector<Step> steps);
template <class T>
std::vector<const T*> pointers_to(const std::vector<T>& list) {
  std::vector<const T*> out;
  out.reserve(list.size());
  for (const T& item : list) out.push_back(&item);
  return out;
}
std::vector<const Step*> all_steps(const std::vector<const StepGroup*>& groups);

}  // namespace isomer
