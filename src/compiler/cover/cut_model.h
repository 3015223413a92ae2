// A model cut into segments: neighbouring nodes that could be one of our operators; the rest stays with a
// runtime. region_program.h makes programs and operators of them.
//
// Nodes are ordered so that those that can't be compiled (no formula, bodies, sizes that depend on values)
// come as late as possible; the nodes between them are a layer. A layer is cut where few tensors cross. A
// segment of neighbours in this order is convex: no path leaves it and comes back.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

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
// The names of values that are made before a segment, and read by it or later.
using Border = std::set<std::string>;

struct CutOptions {
  std::size_t most_segments = 24;
  // Beside nodes that stay with the runtime, a segment that computes less stays there, too: a call of an
  // operator takes a microsecond, in which a runtime computes this.
  double least_operations = 1000;
  // Cut here, too, wherever the same values cross, and nothing else: borders of an equal model.
  std::vector<Border> borders = {};
};

struct CutModel {
  Model model;  // of one size; what is known before it runs is an initializer
  Inference inference;
  std::set<NodeId> constants;  // nodes that read nothing but each other
  std::vector<Segment> segments;
  std::size_t closed = 0;  // nodes that stay with the runtime, whatever is chosen
  // For a model with open sizes (open_model.h): an input whose extents are the sizes. No node reads an
  // element of it.
  Value sizes = Value::none();
};

// Error: a size that is not given; a model that is not legal.
Result<CutModel> cut_model(const Model& model, const InferOptions& sizes, const CutOptions& options = {});
// The border before each segment but the first.
std::vector<Border> borders_of(const CutModel& cut);

// The nodes of some segments that follow each other.
std::vector<NodeId> nodes_of(const CutModel& cut, std::size_t first, std::size_t count);

}  // namespace isomer
