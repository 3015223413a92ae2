// What ONNX Runtime must know of a model to load it.
//
// Of some operators it asks the sizes of inputs before anything runs, finds them by rules of its own, which
// know less than ours, and refuses the model where it does not. A model that it loaded is loaded after a
// change, too, if what such an input's size follows from stays as it is.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "graph/names.h"
#include "rewrite/proposal.h"

namespace isomer {

class LoadDemands {
 public:
  explicit LoadDemands(Graph graph);
  // Why the runtime may refuse the graph with this change; nullopt: because of sizes it does not.
  std::optional<std::string> objection(const Proposal& proposal) const;

 private:
  bool is_known(const std::string& name) const;
  Graph graph_;
  std::set<std::string> kept_;  // values that the sizes follow from
};

}  // namespace isomer
