#include "report/node_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "graph/rebuild.h"
#include "search/scratch_model.h"

namespace isomer {
namespace {

constexpr std::int64_t kProfileNs = 500'000'000;  // of runs: single nodes are to be told apart
constexpr char kMark = '@';                       // "@12@"; no exporter is known to use it

// Names that somebody outside or in a subgraph knows.
std::set<std::string> fixed_names(const Graph& graph) {
  std::set<std::string> out;
  for (const Value v : graph.outputs()) out.insert(graph.name_of(v));
  for (const NodeId id : graph.order())
    for (const Value v : graph.node(id).captures)
      if (v.exists()) out.insert(graph.name_of(v));
  return out;
}

}  // namespace

Graph with_marks(const Graph& graph) {
  const std::set<std::string> fixed = fixed_names(graph);
  std::size_t number = 0;
  return with_changed_nodes(graph, [&](Node& node) {
    if (node.kind != NodeKind::Operator) return;
    node.name = fmt::format("{0}{1}{0}", kMark, number);
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      if (std::string& o = node.outputs[k]; !o.empty() && !fixed.contains(o))
        o = k == 0 ? node.name : fmt::format("{}{}", node.name, k);
    ++number;
  });
}

std::vector<std::size_t> marks_in(std::string_view name) {
  std::vector<std::size_t> out;
  for (auto at = name.find(kMark); at != std::string_view::npos; at = name.find(kMark, at + 1)) {
    std::size_t number = 0;
    const char *begin = name.data() + at + 1, *end = name.data() + name.size();
    const auto read = std::from_chars(begin, end, number);
    if (read.ec != std::errc() || read.ptr == end || *read.ptr != kMark) continue;
    if (std::ranges::find(out, number) == out.end()) out.push_back(number);
    at = static_cast<std::size_t>(read.ptr - name.data());
  }
  return out;
}

Outcome<NodeTimes> node_times(Judge& judge, const Model& model, const SharedFeeds& feeds,
                              const RuntimeOptions& options, const std::filesystem::path& scratch) {
  const auto marked = ScratchModel::write(with_graph(model, with_marks(model.graph)), scratch);
  if (!marked.ok()) return Failure{FailureKind::Refused, marked.error().message};
  ISOMER_TRY(Worker * worker, judge.worker());
  ISOMER_TRY(const auto kernels, worker->profile(marked->source(), options, feeds, kProfileNs));
  NodeTimes out{.ns = std::vector<double>(model.graph.operator_count())};
  for (const KernelKind& kind : kernels)
    for (const KernelKind::Each& kernel : kind.each) {
      std::vector<std::size_t> nodes = marks_in(kernel.node);
      std::erase_if(nodes, [&](std::size_t n) { return n >= out.ns.size(); });
      if (nodes.empty()) out.others_ns += kernel.time_ns;
      for (const std::size_t n : nodes) out.ns[n] += kernel.time_ns / static_cast<double>(nodes.size());
    }
  return out;
}

}  // namespace isomer
