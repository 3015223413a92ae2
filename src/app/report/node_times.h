// The time of each node of a model in a runtime, by its own profile.
//
// The runtime fuses nodes and renames them, so this is a best effort. Nodes are marked. A kernel belongs to
// the node whose mark is in its name, to nodes without a kernel before it up to the operator in the kernel's
// type, and to those after it. They share its time by their analytic cost. Time that can't be assigned
// belongs to no node.
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

// The times of operators from the kernels of a marked graph.
NodeTimes shared_out(const Graph& graph, const std::vector<KernelKind>& kernels);

// For each operator, 0 if unknown.
std::vector<double> analytic_costs(const Graph& graph);

// The graph with a mark in the name of each operator and of its outputs that identifies it.
Graph with_marks(const Graph& graph);
// The numbers of the operators whose marks are in a name.
std::vector<std::size_t> marks_in(std::string_view name);

}  // namespace isomer
