// Lineage: which nodes of a model became which nodes of the other, by the steps of a certificate.
//
// The steps are replayed on an outline of the graph, names and wiring only: nothing is proved and no constant
// is computed. The result is only for display.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernel/certify/certificate.h"
#include "model/graph/graph.h"

namespace isomer {

// Nodes of IN that became nodes of OUT. No node after: they vanished.
struct ChangedRegion {
  std::vector<NodeId> before, after;  // in the order of their graphs
  std::vector<std::size_t> claims;    // numbers of the certificate's replacements that did it
};

struct Lineage {
  std::vector<ChangedRegion> changed;           // by their first node before
  std::vector<std::pair<NodeId, NodeId>> kept;  // nodes that are in both, in the order of IN
};

// Every operator of either graph is in one region or kept.
Lineage lineage_of(const Graph& in, const Graph& out, const Certificate& certificate);

// The notes of each replacement, in order. Empty: notes and replacements don't match.
std::vector<Note> notes_of_claims(const Certificate& certificate);

}  // namespace isomer
