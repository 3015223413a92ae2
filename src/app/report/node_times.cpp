#include "app/report/node_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <unordered_map>

#include "model/graph/rebuild.h"
#include "optimizer/facts/price.h"
#include "runtime/judge/scratch_model.h"

namespace isomer {
namespace {

constexpr std::int64_t kProfileNs = 300'000'000;  // of runs, to resolve single nodes
constexpr char kMark = '@';                       // "@12@"; no exporter is known to use it

// Names that are used outside or in a subgraph.
std::set<std::string> fixed_names(const Graph& graph) {
  std::set<std::string> out;
  for (const Value v : graph.outputs()) out.insert(graph.name_of(v));
  for (const NodeId id : graph.order())
    for (const Value v : graph.node(id).captures)
      if (v.exists()) out.insert(graph.name_of(v));
  return out;
}

// Whether a kernel of this name may be a node of that operator: "FusedMatMul" is a MatMul, a Gemm may have
// been one.
bool is_kernel_of(const std::string& kernel, const std::string& op) {
  return kernel.find(op) != std::string::npos || (op == "MatMul" && kernel.ends_with("Gemm"));
}

// A kernel, and the operators that it computes.
struct Share {
  double time_ns = 0;
  std::vector<std::size_t> nodes;
};

// Gives each kernel its operators.
class Sharing {
 public:
  explicit Sharing(const Graph& graph) {
    std::unordered_map<NodeId, std::size_t> numbers;
    for (const NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      if (node.kind != NodeKind::Operator) continue;
      const std::size_t number = ops_.size();
      numbers.emplace(id, number);
      ops_.push_back(&node.op);
      from_.emplace_back();
      readers_.emplace_back();
      for (const Value v : node.inputs)
        if (const auto at = v.exists() ? numbers.find(v.node) : numbers.end(); at != numbers.end()) {
          from_.back().push_back(at->second);
          readers_[at->second].push_back(number);
        }
    }
    owner_.resize(ops_.size(), kNobody);
  }

  // In the order in which they run; the time of those that belong to no operator.
  double add(const std::vector<std::pair<std::string, KernelKind::Each>>& kernels) {
    for (const auto& [op, kernel] : kernels) add_marked(op, kernel);
    for (std::size_t k = 0; k < kernels.size(); ++k)
      if (const std::size_t share = marked_[k]; share != kNobody) reach_back(share, kernels[k].first);
    double others_ns = 0;
    std::size_t last = kNobody;  // kernel with a mark before this one
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      if (marked_[k] != kNobody) last = marked_[k];
      else if (!add_unmarked(last, kernels[k])) others_ns += kernels[k].second.time_ns;
    }
    join_the_rest();
    return others_ns;
  }
  const std::vector<Share>& shares() const { return shares_; }

 private:
  static constexpr std::size_t kNobody = ~std::size_t{0};

  void take(std::size_t share, std::size_t node) {
    owner_[node] = share;
    shares_[share].nodes.push_back(node);
  }

  void add_marked(const std::string& op, const KernelKind::Each& kernel) {
    std::vector<std::size_t> nodes = marks_in(kernel.node);
    // A change of layout is named by what it is for, and is no part of it.
    std::erase_if(nodes, [&](std::size_t n) { return n >= ops_.size() || op.starts_with("Reorder"); });
    marked_.push_back(nodes.empty() ? kNobody : shares_.size());
    if (nodes.empty()) return;
    if (const std::size_t known = owner_[nodes[0]]; known != kNobody) {
      marked_.back() = known;
      shares_[known].time_ns += kernel.time_ns;
      return;
    }
    shares_.push_back({.time_ns = kernel.time_ns, .nodes = {}});
    for (const std::size_t n : nodes)
      if (owner_[n] == kNobody) take(marked_.back(), n);
  }

  // A kernel that is named by its last operator: from there back to the one that it is.
  void reach_back(std::size_t share, const std::string& kernel) {
    const std::size_t named = shares_[share].nodes.front();
    if (is_kernel_of(kernel, *ops_[named])) return;
    std::vector<std::size_t> path{named};
    for (std::size_t k = 0; k < path.size() && path.size() < kMostFused; ++k)
      for (const std::size_t n : from_[path[k]]) {
        if (owner_[n] != kNobody || std::ranges::find(path, n) != path.end()) continue;
        path.push_back(n);
        if (!is_kernel_of(kernel, *ops_[n])) continue;
        for (std::size_t i = 1; i < path.size(); ++i) take(share, path[i]);
        return;
      }
  }

  // One without a mark runs what lies behind the one before it and has no kernel.
  bool add_unmarked(std::size_t last, const std::pair<std::string, KernelKind::Each>& kernel) {
    if (last == kNobody || kernel.first.starts_with("Reorder")) return false;
    auto [at, is_new] = behind_.emplace(last, shares_.size());
    if (is_new) {
      std::vector<std::size_t> open = shares_[last].nodes;
      for (std::size_t k = 0; k < open.size() && open.size() < kMostFused; ++k)
        for (const std::size_t n : readers_[open[k]])
          if (owner_[n] == kNobody && std::ranges::find(open, n) == open.end()) open.push_back(n);
      shares_.emplace_back();
      for (std::size_t k = shares_[last].nodes.size(); k < open.size(); ++k) take(at->second, open[k]);
    }
    Share& share = shares_[at->second];
    if (share.nodes.empty()) return false;
    share.time_ns += kernel.second.time_ns;
    return true;
  }

  void join_the_rest() {
    for (std::size_t n = 0; n < ops_.size(); ++n) {
      if (owner_[n] != kNobody || *ops_[n] == "Identity") continue;
      for (const std::size_t source : from_[n])
        if (owner_[source] != kNobody) {
          take(owner_[source], n);
          break;
        }
    }
  }

  static constexpr std::size_t kMostFused = 64;  // operators in one kernel; an attention has 20
  std::vector<const std::string*> ops_;
  std::vector<std::vector<std::size_t>> from_, readers_;
  std::vector<std::size_t> owner_;  // the share that a node is in
  std::vector<Share> shares_;
  std::vector<std::size_t> marked_;  // of each kernel, its share, if it has a mark
  std::map<std::size_t, std::size_t> behind_;
};

}  // namespace

NodeTimes shared_out(const Graph& graph, const std::vector<KernelKind>& kernels) {
  std::vector<std::pair<std::string, KernelKind::Each>> list;
  for (const KernelKind& kind : kernels)
    for (const KernelKind::Each& kernel : kind.each) list.emplace_back(kind.op, kernel);
  std::ranges::stable_sort(list, {}, [](const auto& k) { return k.second.place; });
  Sharing sharing(graph);
  const std::vector<double> costs = analytic_costs(graph);
  NodeTimes out{.ns = std::vector<double>(costs.size()), .others_ns = sharing.add(list)};
  for (const Share& share : sharing.shares()) {
    double total = 0;
    for (const std::size_t n : share.nodes) total += costs[n];
    for (const std::size_t n : share.nodes)
      out.ns[n] +=
          share.time_ns * (total > 0 ? costs[n] / total : 1 / static_cast<double>(share.nodes.size()));
  }
  return out;
}

std::vector<double> analytic_costs(const Graph& graph) {
  const auto inference = infer(graph);
  const std::set<NodeId> folded = folded_nodes(graph);
  std::vector<double> out;
  for (const NodeId id : graph.order()) {
    if (graph.node(id).kind != NodeKind::Operator) continue;
    const bool is_known = inference.ok() && !folded.contains(id);
    out.push_back(is_known ? price_of(graph, *inference, id, unknown_machine()).value_or(0) : 0);
  }
  return out;
}

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

Outcome<std::vector<KernelKind>> marked_kernels(Judge& judge, const Model& model, const SharedFeeds& feeds,
                                                const RuntimeOptions& options,
                                                const std::filesystem::path& scratch) {
  const auto marked = ScratchModel::write(with_graph(model, with_marks(model.graph)), scratch);
  if (!marked.ok()) return Failure{FailureKind::Refused, marked.error().message};
  ISOMER_TRY(Worker * worker, judge.worker());
  return worker->profile(marked->source(), options, feeds, kProfileNs);
}

Outcome<NodeTimes> node_times(Judge& judge, const Model& model, const SharedFeeds& feeds,
                              const RuntimeOptions& options, const std::filesystem::path& scratch) {
  ISOMER_TRY(const auto kernels, marked_kernels(judge, model, feeds, options, scratch));
  return shared_out(model.graph, kernels);
}

}  // namespace isomer
