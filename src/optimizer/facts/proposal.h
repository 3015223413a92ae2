// Proposal: a suggested rewrite. Nothing here is trusted: a wrong one costs time, never correctness.
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
  std::string kind;                // the proposer's name: "collapse"
  std::string what;                // in its own words, printed as they are and never taken apart
  Claim claim;                     // no outputs: nothing is replaced, only folded
  std::vector<std::string> folds;  // values of the new program that become constants
  double gain = 0;  // what it saves, by the analytic cost: in the unit of optimizer/facts/machine.h
  // Equal over the reals, but not by reordering sums: to be taken only where its error is known.
  bool rounds_otherwise = false;
  // Values whose nodes compute in float32 (kernel/prove/widen.h); then there is no claim.
  std::vector<std::string> widens = {};
  // Constants whose denormal numbers become zero (kernel/prove/flush.h); then there is no claim.
  std::vector<std::string> flushes = {};
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
  bool fewer_nodes = false;            // nodes count: constants are initializers
  std::set<std::string> without = {};  // names of proposers that are not used
  const Machine* machine = &unknown_machine();
};

}  // namespace isomer
