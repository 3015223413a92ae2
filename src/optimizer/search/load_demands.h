// What ONNX Runtime must know of a model to load it.
//
// For some operators it needs the sizes of inputs before anything runs. It infers them by its own rules,
// which know less than ours, and rejects the model if it cannot. A model that it loaded still loads after a
// change if the nodes that determine such an input's size stay as they are. For other operators it reads
// inputs that it assumes to be constants without a check, and crashes where they are not.
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
