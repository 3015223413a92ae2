#include "optimizer/search/regions.h"

#include <algorithm>
#include <map>
#include <set>

#include "model/graph/crossings.h"
#include "model/graph/graph_index.h"

namespace isomer {
namespace {

class Partition {
 public:
  Partition(const Workpiece& piece, int most)
      : piece_(piece), graph_(piece.graph()), index_(graph_), most_(most) {
    constants_ = constant_nodes(
        graph_, [&](NodeId id) { return !graph_.is_overridable(id) && graph_.node(id).captures.empty(); });
    for (const NodeId id : graph_.order())
      if (graph_.node(id).kind == NodeKind::Operator && !constants_.contains(id)) order_.push_back(id);
    for (std::size_t k = 0; k < order_.size(); ++k) position_[order_[k]] = k;
    count_crossings();
  }

  std::vector<RegionPlace> run(bool shifted) {
    std::vector<RegionPlace> out;
    int most = shifted ? most_ / 2 : most_;
    for (std::size_t begin = 0; begin < order_.size();) {
      if (is_closed(begin)) {
        ++begin;
        continue;
      }
      const std::size_t end = end_of(begin, most);
      most = most_;
      if (auto place = place_of(begin, end)) out.push_back(std::move(*place));
      begin = end;
    }
    return out;
  }

 private:
  // Nodes that belong to no region.
  bool is_closed(std::size_t at) const {
    const Node& node = graph_.node(order_[at]);
    return !node.captures.empty() || piece_.inference().opaque.contains(order_[at]);
  }

  // crossings_[k]: values that are made before the k-th node and read by it or later.
  void count_crossings() {
    std::vector<int> change(order_.size() + 1, 0);
    for (const Crossing& c : crossings(index_, position_, constants_)) {
      ++change[c.first];
      --change[c.last + 1];
    }
    crossings_.assign(order_.size() + 1, 0);
    int now = 0;
    for (std::size_t k = 0; k < order_.size(); ++k) crossings_[k] = now += change[k];
  }

  std::size_t end_of(std::size_t begin, int most) const {
    int nodes = 0;
    std::size_t at = begin, best = begin + 1;
    for (; at < order_.size() && !is_closed(at); ++at) {
      const Node& node = graph_.node(order_[at]);
      nodes += node.op == "Identity" && node.domain.empty() ? 0 : 1;
      if (nodes > most) break;
      const bool is_late = 2 * nodes >= most;  // a cut that leaves a region of a useful size
      if (is_late && (best == begin + 1 || crossings_[at + 1] <= crossings_[best])) best = at + 1;
    }
    return nodes <= most ? at : best;
  }

  std::optional<RegionPlace> place_of(std::size_t begin, std::size_t end) const {
    RegionPlace out;
    const auto is_inside = [&](NodeId id) {
      const auto at = position_.find(id);
      return at != position_.end() && at->second >= begin && at->second < end;
    };
    std::vector<Value> from, to;
    for (std::size_t k = begin; k < end; ++k) {
      const Node& node = graph_.node(order_[k]);
      for (const Value& v : node.inputs)
        if (v.exists() && !is_inside(v.node) && !constants_.contains(v.node) &&
            std::ranges::find(from, v) == from.end())
          from.push_back(v);
      for (std::uint32_t o = 0; o < node.outputs.size(); ++o) {
        const Value v{order_[k], o};
        if (index_.is_output(v) || !std::ranges::all_of(index_.readers(v), is_inside)) to.push_back(v);
      }
    }
    if (to.empty()) return std::nullopt;
    auto graph = region_of(graph_, piece_.inference(), from, to);
    if (!graph.ok()) return std::nullopt;
    out.graph = std::move(*graph);
    for (const Value& v : from) out.inputs.push_back(graph_.name_of(v));
    for (const Value& v : to) out.outputs.push_back(graph_.name_of(v));
    return out;
  }

  const Workpiece& piece_;
  const Graph& graph_;
  GraphIndex index_;
  int most_;
  std::set<NodeId> constants_;
  std::vector<NodeId> order_;  // operators that are no constants
  std::map<NodeId, std::size_t> position_;
  std::vector<int> crossings_;
};

}  // namespace

std::vector<RegionPlace> partition(const Workpiece& piece, int most_nodes, bool shifted) {
  return Partition(piece, most_nodes).run(shifted);
}

}  // namespace isomer
