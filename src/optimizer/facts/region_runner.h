// A linear region's own nodes applied to another input, which may be of another size: batches of impulses
// show what the region computes.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "model/graph/program_builder.h"
#include "optimizer/facts/linear_region.h"

namespace isomer {

class RegionRunner {
 public:
  // The region by itself, named sizes as numbers that stand for any. nullopt: it isn't known well enough.
  static std::optional<RegionRunner> of(const Graph& graph, const Inference& inference,
                                        const LinearRegion& region);

  const Graph& program() const { return program_; }
  const Inference& inference() const { return inference_; }
  const LinearRegion& region() const { return region_; }
  const Extents& input_sizes() const { return input_; }

  // The same for another shape of the input: targets of Reshape and Expand follow. nullopt: it does not run.
  std::optional<RegionRunner> at(const Extents& input) const;

  // Impulses that reach matrix products as the rows of a unit matrix in some order, times numbers: what such
  // a product makes of row r is row rows[r] of its weights, so that nothing has to be multiplied.
  struct Selection {
    std::vector<std::int64_t> rows;
    std::vector<NodeId> factors;  // products and quotients with one number on the way
  };
  using Selected = std::map<std::size_t, Selection>;  // by the number of the product among the nodes
  // `places`: where each impulse is in the input, of which there is one of a batch here, row-major.
  Selected selected(const std::vector<std::int64_t>& places) const;

  // Constants that are added, as inputs of nodes: with zeros for them the region is linear. nullopt:
  // something else is added.
  using Shifts = std::set<std::pair<NodeId, std::size_t>>;
  std::optional<Shifts> shifts() const;

  // The region's nodes on this value, of the shape that this is for. Constants are the model's, by name, or
  // zeros.
  Value run(ProgramBuilder& b, Value input, const Selected& selected = {}, const Shifts& zeros = {}) const;

 private:
  RegionRunner() = default;
  std::optional<std::vector<std::int64_t>> new_target(NodeId id, const Extents& input) const;
  Value weights_of(ProgramBuilder& b, NodeId product, const Selection& selection, const Shifts& zeros) const;

  Graph program_;
  Inference inference_;
  LinearRegion region_;
  Extents input_;
  std::map<NodeId, std::vector<std::int64_t>> targets_;  // of Reshape and Expand nodes, where they changed
};

// Extents, all of them numbers.
std::optional<Extents> sizes_in(const Inference& inference, Value v);

}  // namespace isomer
