// Facts about sizes: the sizes at which a program runs, and at which its formulas are exact.
//
// Formulas have assumptions about named sizes (model/expr/formula.h: SizeCondition): that a Reshape has the
// same number of elements before and after, that a maximum has at least one element. Wherever the first of
// two programs runs, its conditions hold; the second one may need no others.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "kernel/prove/value_numbers.h"
#include "model/graph/infer.h"

namespace isomer {

// Extents that are >= 0, as are all symbols.
class SizeFacts {
 public:
  explicit SizeFacts(Dims facts);
  // Whether they say that this extent is >= 0, too; false: not seen.
  bool imply(const Dim& extent) const;

 private:
  Dim known_form(const Dim& extent) const;
  bool imply_as_sets(const Dim& goal) const;
  Dims facts_;
  std::map<std::string, Dim, std::less<>> replaced_;  // symbols, by what they are equal to
  bool contradictory_ = false;
};

// The conditions of the nodes that outputs depend on.
Dims needed_sizes(const Graph& graph, const Inference& inference);

// A node of the first program whose formula may not be exact, or one of the second that may not run where the
// first does; nullopt: there is none. `known` holds for all sizes that matter.
std::optional<std::string> why_not_running(const Graph& a, const Inference& a_info, const Graph& b,
                                           const Inference& b_info, const ValueNumbers& numbers,
                                           const Dims& known);

// A whole model: what holds wherever it runs and its user says it does (Graph::sizes_from), and the nodes
// whose values may then have another shape than inference says.
struct ModelSizes {
  Dims facts;
  std::set<NodeId> untrusted;
};
ModelSizes sizes_of(const Graph& graph, const Inference& inference);
// Nodes whose formulas may not be exact, or that may not even run, and everything that depends on them. The
// model's own conditions are no facts.
enum class Doubt : std::uint8_t { OfExactness, OfRunning };
std::set<NodeId> doubtful_nodes(const Graph& graph, const Inference& inference, const SizeFacts& facts,
                                Doubt doubt);

// The facts that contain only these symbols.
Dims about(const Dims& facts, const std::set<std::string>& symbols);

}  // namespace isomer
