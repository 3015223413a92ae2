// Regions that are linear in one activation, and how far each of their outputs looks.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "algebra/analysis.h"
#include "graph/graph.h"
#include "graph/infer.h"
#include "propose/proposal.h"

namespace isomer {

struct LinearRegion {
  std::vector<NodeId> nodes;  // in order
  Value input, output;
  bool affine = false;  // constants are added somewhere
};

// Values that depend on constants only.
std::set<Value> constant_values(const Graph& graph);

// The largest region that ends in this value, is linear in what it reads, and whose inner values nobody else
// reads; nullopt: none of two nodes or more.
std::optional<LinearRegion> linear_region(const Graph& graph, const Inference& inference,
                                          const std::set<Value>& constants,
                                          const std::map<Value, std::vector<NodeId>>& consumers,
                                          Value output);

// The box of the region's input that one position of its output needs. Concrete sizes.
std::optional<Box> needed_input(const Graph& graph, const Inference& inference, const LinearRegion& region,
                                const Extents& position);

// The region as one convolution or matrix product; nullopt: `why` not.
std::optional<Proposal> collapse_region(const Graph& graph, const Inference& inference,
                                        const LinearRegion& region, bool any_price, std::string& why);

}  // namespace isomer
