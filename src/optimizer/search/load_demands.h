// What ONNX Runtime must know of a model to load it.
//
// Of some operators it asks the sizes of inputs before anything runs, finds them by rules of its own, which
// know less than ours, and refuses the model where it does not. A model that it loaded is loaded after a
// change, too, if what such an input's size follows from stays as it is. Of others it reads inputs that it
// takes for constants without asking, and dies where they are none.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "model/graph/names.h"
#include "optimizer/facts/proposal.h"

namespace isomer {

class LoadDemands {
 public:
  explicit LoadDemands(Graph graph);
  // Why the runtime may refuse the graph with this change; nullopt: because of sizes and
  // constants it does not.
  std::optional<std::string> objection(const Proposal& proposal) const;
  // Whether the runtime loads the graph if this value of it becomes a constant, as it does now.
  bool may_fold(const std::string& name) const { return !bound_.contains(name); }

 private:
  bool is_known(const std::string& name) const;
  std::optional<std::string> constants_objection(const Proposal& proposal) const;
  Graph graph_;
  std::set<std::string> kept_;   // values that the sizes follow from
  std::set<std::string> bound_;  // values from which follows what is a constant
};

}  // namespace isomer
