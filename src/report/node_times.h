// How long the nodes of a model take in a runtime, by its own profile. The runtime fuses nodes and renames them; a
// kernel is told to be that of the nodes whose marks are in its name, and the rest is nobody's.
#pragma once

#include <filesystem>
#include <vector>

#include "onnx/model.h"
#include "runtime/judge.h"

namespace isomer {

struct NodeTimes {
  std::vector<double> ns;  // of each operator, in the order of the graph
  double others_ns = 0;    // of kernels that belong to no node: changes of layout, fusions under names of their own
};

// `scratch`: a name whose neighbours may be written.
Outcome<NodeTimes> node_times(Judge& judge, const Model& model, const SharedFeeds& feeds,
                              const RuntimeOptions& options, const std::filesystem::path& scratch);

// The graph with a mark in the name of each operator, and of what it makes, that shows which one it is.
Graph with_marks(const Graph& graph);
// The numbers of the operators whose marks are in a name.
std::vector<std::size_t> marks_in(std::string_view name);

}  // namespace isomer
