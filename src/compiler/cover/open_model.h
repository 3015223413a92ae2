// A model whose sizes stay open, for operators that run at every size.
//
// What its nodes compute with sizes (targets of Reshape, ends of Slice) is computed anew out of one vector,
// the sizes of the call. So regions can be cut anywhere: none needs the shapes of values that lie in others.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/cover/cut_model.h"
#include "compiler/cover/region_program.h"
#include "io/onnx/model.h"
#include "model/graph/graph.h"
#include "model/graph/infer.h"

namespace isomer {

// Names in the shapes of inputs that are an extent by themselves, in order.
std::vector<std::string> sizes_of_inputs(const Graph& graph, const Inference& inference);

// The model with its segments left out, and some of its sizes `fixed`, by their names. CutModel::sizes is an
// input that it has besides. Error: no size is open, or one is no extent of an input.
Result<CutModel> open_model(const Model& model, const std::map<std::string, std::int64_t>& fixed);

// The same region of it: what computes the region's outputs out of its inputs, by their names. Error: that
// takes something else, too.
Result<RegionProgram> open_region(const CutModel& open, const CutModel& cut, const RegionProgram& region);

}  // namespace isomer
