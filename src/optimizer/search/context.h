// Shared by all parts of one search.
#pragma once

#include "io/onnx/model.h"
#include "optimizer/search/options.h"
#include "optimizer/search/trials.h"

namespace isomer {

// Trials: the runtime decides what is taken; nullptr: the analytic cost decides.
struct SearchContext {
  const SearchOptions& options;
  const Model& model;
  Trials* trials;
  SearchReport& report;
  SearchContext(const SearchOptions& o, const Model& m, Trials* t, SearchReport& r)
      : options(o), model(m), trials(t), report(r) {}
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
  // A draft that is better than all before.
  void tell(const Draft& draft);
  // The result if these proved steps of the current graph were all; nullopt: nothing new since the last
  // report. Null: not available.
  using SoFar = std::function<std::optional<Draft>(const std::vector<Step>& proved)>;
  SoFar so_far = {};
  // Publishes the best draft before work that cannot be interrupted, such as a proof: if the caller stops
  // waiting, it takes this draft. Only without a runtime, whose measurements take longer than they are worth;
  // and rarely enough to cost nothing.
  void tell_so_far(const std::vector<Step>& proved);

 private:
  double told_at_ = 0, telling_took_ = 0;  // seconds of the limit
};

// By what the machine is known to do.
double price_of(const Graph& graph, const Machine& machine);

}  // namespace isomer
