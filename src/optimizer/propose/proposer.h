// Proposer: one idea for a faster program, declared once, in the file that has it. The list of them
// (list.h), `--only` and `--without`, the words for their steps (change.h), the page of `isomer report` and
// docs/reference/proposers.md follow from the declaration.
#pragma once

#include <string_view>

#include "optimizer/facts/proposal.h"

namespace isomer {

struct Proposer {
  using Propose = Proposals (*)(const Graph& graph, const Inference& inference,
                                const ProposeOptions& options);
  enum class Kind : std::uint8_t {
    Default,
    // Its steps may lose by themselves, or break what others would do at once: for strategies that look
    // further, or where no other proposer is selected.
    Further,
    // Called once, before all others (propose_first): they get the graph that it makes.
    First,
    // Called once, on the original model.
    Given,
  };

  std::string_view name;   // in --only, --without and certificates: "collapse"
  std::string_view title;  // "an affine region as one node"
  std::string_view law;    // a formula, in Unicode
  std::string_view finds;  // one sentence for people
  Propose propose;         // null: the rules that the user gave (propose_by_rules)
  Kind kind = Kind::Default;
  // Text added to "A → B" if the operators alone do not show the gain.
  std::string_view remark = {};
  // The words for all of its steps, where the operators say nothing; "": "A → B".
  std::string_view summary = {};

  Proposals operator()(const Graph& graph, const Inference& inference,
                       const ProposeOptions& options = {}) const {
    return propose(graph, inference, options);
  }
};

extern const Proposer kSimplify, kCollapse, kNeeded, kBatch, kCommute, kLinear, kRepeated, kReassociate,
    kFastpath, kBilinear, kStructure, kOrder, kFunctions, kPartial, kGenerated, kUser, kDenormals, kWiden;

}  // namespace isomer
