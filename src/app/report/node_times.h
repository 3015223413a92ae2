// How long the nodes of a model take in a runtime, by its own profile.
//
// The runtime fuses nodes and renames them, so that this is a best effort: nodes are marked, and a kernel is
// that of the node whose mark is in its name, of nodes without a kernel before it up to the operator that the
// kernel says it is, and of those behind it. They share its time by their analytic cost. What can't be told
// is nobody's.
#pragma once

#include <filesystem>
#include <vector>

#include "io/onnx/model.h"
#include "runtime/judge/judge.h"

namespace isomer {

struct NodeTimes {
  std::vector<double> ns;  // of each operator, in the order of the graph
  double others_ns =
      0;  // of kernels that belong to no node: changes of layout, fusions under names of their own
};

// `scratch`: a name whose neighbours may be written.
Outcome<NodeTimes> node_times(Judge& judge, const Model& model, const SharedFeeds& feeds,
                              const RuntimeOptions& options, const std::filesystem::path& scratch);

// The kernels that the runtime runs of the model with marks.
Outcome<std::vector<KernelKind>> marked_kernels(Judge& judge, const Model& model, const SharedFeeds& feeds,
                                                const RuntimeOptions& options,
                                                const std::filesystem::path& scratch);

// What kernels of a marked graph tell of its operators.
NodeTimes shared_out(const Graph& graph, const std::vector<KernelKind>& kernels);

// Of each operator, 0 where nothing is known.
std::vector<double> analytic_costs(const Graph& graph);

// The graph with a mark in the name of each operator, and of what it makes, that shows which one it is.
Graph with_marks(const Graph& graph);
// The numbers of the operators whose marks are in a name.
std::vector<std::size_t> marks_in(std::string_view name);

}  // namespace isomer
