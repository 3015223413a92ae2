// What all parts of one search share.
#pragma once

#include "onnx/model.h"
#include "search/options.h"
#include "search/trials.h"

namespace isomer {

// Trials: the runtime decides what is taken; nullptr: the analytic cost decides.
struct SearchContext {
  const SearchOptions& options;
  const Model& model;
  Trials* trials;
  SearchReport& report;
  ProofCache proofs = {};
  std::int64_t tried = 0;
  int next_place = 0;  // makes names that are not used yet

  const Machine& machine() const { return trials ? trials->machine().machine() : unknown_machine(); }
  // To be called before a graph is priced. Whether something new is known of the machine.
  bool learn(const Graph& graph, const Inference& inference) const {
    return trials && trials->machine().learn(graph, inference);
  }
  // Whether to stop now; says why in the report.
  bool is_over();
};

}  // namespace isomer
