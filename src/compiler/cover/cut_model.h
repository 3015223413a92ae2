// A model cut into stretches of nodes, each of which could be one operator of ours, the rest being left to a
// runtime; and the model in which some of them are.
//
// Nodes are put into an order in which those that can't be compiled (no formula, bodies, sizes that depend on
// values) stand as late as they can: what lies between them is a layer. A layer is cut where few tensors
// cross. A stretch of neighbours in this order is convex: no way leaves it and comes back.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "io/onnx/model.h"
#include "model/graph/graph.h"
#include "model/graph/infer.h"

namespace isomer {

struct Segment {
  std::size_t layer = 0;  // only neighbours of one layer may become one region
  std::vector<NodeId> nodes = {};
  double operations = 0;
  std::int64_t entering_bytes = 0;         // of values that are made before it, and read by it or later
  std::optional<std::size_t> border = {};  // the border of CutOptions that it begins at
};
// The names of values that are made before a stretch, and read by it or later.
using Border = std::set<std::string>;

struct CutOptions {
  std::size_t most_segments = 24;
  // Cut here, too, wherever the same values cross, and nothing else: borders of an equal model.
  std::vector<Border> borders = {};
};

struct CutModel {
  Model model;  // of one size; what is known before it runs is an initializer
  Inference inference;
  std::set<NodeId> constants;  // nodes that read nothing but each other
  std::vector<Segment> segments;
  std::size_t closed = 0;  // nodes that stay with the runtime, whatever is chosen
};

// Error: a size that nobody gave; a model that is not legal.
Result<CutModel> cut_model(const Model& model, const InferOptions& sizes, const CutOptions& options = {});
// Of the segments but the first.
std::vector<Border> borders_of(const CutModel& cut);

// Some nodes as a program of their own.
struct RegionProgram {
  std::vector<NodeId> nodes;
  std::vector<Value> inputs, outputs;  // of the model's graph, in the order of the program's
  Graph graph;
};
// Error: nodes that are not convex, or a value whose size is not known.
Result<RegionProgram> region_program(const CutModel& cut, const std::vector<NodeId>& nodes);
// The nodes of some segments that follow each other.
std::vector<NodeId> nodes_of(const CutModel& cut, std::size_t first, std::size_t count);

// Equal for programs that differ in their names and in the elements of large constants only: they take the
// same time.
Digest structure_of(const Graph& program);

// A region as one node.
struct OperatorPlace {
  const RegionProgram* region = nullptr;
  std::string op;            // in the domain of our operators
  std::int64_t weights = 0;  // the number of its file
};
// The model with operators in the place of regions. Error: regions that share a node, or that wait for each
// other.
Result<Model> with_operators(const CutModel& cut, const std::vector<OperatorPlace>& places);

}  // namespace isomer
