// Regions of a cut model: each as a separate program, and the model in which some of them are our operators.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "compiler/cover/cut_model.h"
#include "io/onnx/model.h"
#include "model/graph/graph.h"

namespace isomer {

// Some nodes as a program of their own.
struct RegionProgram {
  std::vector<NodeId> nodes;
  std::vector<Value> inputs, outputs;  // of the model's graph, in the order of the program's
  Graph graph;
};
// Error: nodes that are not convex, or a value whose size is not known.
Result<RegionProgram> region_program(const CutModel& cut, const std::vector<NodeId>& nodes);

// Equal for programs that differ in their names and in the elements of large constants only: they take the
// same time.
Digest structure_of(const Graph& program);

// A region as one node.
struct OperatorPlace {
  const RegionProgram* region = nullptr;
  std::string op;            // in the domain of our operators
  std::int64_t weights = 0;  // where they begin in the file
};
// The model with operators in the place of regions. Error: regions that share a node, or that wait for each
// other.
Result<Model> with_operators(const CutModel& cut, const std::vector<OperatorPlace>& places);

}  // namespace isomer
