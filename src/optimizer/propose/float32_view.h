// A graph of 16-bit floats as proposers see it: with float32 in their place. Over the reals both are one
// program, so a proposal for the one is a proposal for the other, and no proposer has to handle widths. Their
// output gets the widths of the original graph. Weights that are stored in 16 bits and cast to float32 are
// constants to them. Nothing here is trusted.
#pragma once

#include <optional>
#include <vector>

#include "optimizer/facts/proposal.h"

namespace isomer {

bool is_half(ElementType type);  // Float16, BFloat16

class Float32View {
 public:
  // nullopt: the graph has no 16-bit floats, or there is no such graph of float32 (a subgraph's types are
  // not to be changed, say).
  static std::optional<Float32View> of(const Graph& graph, const Inference& inference);

  // Values have the names, and nodes the order, that they have in the graph itself.
  const Graph& graph() const { return graph_; }
  const Inference& inference() const { return inference_; }

  // A proposal for the float32 view, translated to the graph itself: new constants in its width, if the
  // program's other numbers are stored that way.
  Proposal translate(Proposal proposal) const;

 private:
  Float32View() = default;
  std::optional<ElementType> width_of(const std::vector<std::string>& names, const Graph& program) const;
  Graph with_casts(const Graph& program, const std::string& output) const;
  Graph given_;
  Graph graph_;
  Inference inference_;
  std::map<std::string, ElementType, std::less<>> halves_;  // values of the graph itself
  std::map<std::string, std::string, std::less<>> casts_;   // constants of 16 bits, by what they are cast to
};

}  // namespace isomer
