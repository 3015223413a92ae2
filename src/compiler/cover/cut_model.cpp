#include "compiler/cover/cut_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "compiler/cover/graph_copy.h"
#include "compiler/emit/compile_module.h"
#include "model/analysis/analysis.h"
#include "model/eval/program.h"
#include "model/expr/parts.h"
#include "model/graph/crossings.h"
#include "model/graph/flatten.h"
#include "model/graph/graph_index.h"

namespace isomer {
namespace {

// Cuts are searched among kWindow neighbours on each side: those that the fewest values cross, and among near
// neighbours the one with the fewest bytes. The inside of a block is wider than its ends.
constexpr std::size_t kWindow = 4, kNear = 2;
// A segment with less than this share of all operations is joined to a neighbour: calling it would cost more
// than it could gain, and timing it, too.
constexpr double kLeastShare = 1.0 / 64;

std::optional<Tensor> known_tensor(const ValueInfo& info) {
  if (info.constant) return info.constant;
  const auto shape = concrete_shape(info);
  if (!info.integers || !shape) return std::nullopt;
  const auto numbers = concrete(*info.integers);
  if (!numbers) return std::nullopt;
  return convert(Tensor::of(ElementType::Int64, *shape, *numbers), info.type);
}

Node initializer(std::string name, Tensor tensor) {
  Node node;
  node.kind = NodeKind::Initializer;
  node.outputs = {std::move(name)};
  node.tensor = std::move(tensor);
  return node;
}

// Inputs as large as inference says; values that are known as initializers.
Graph with_known_sizes(const Graph& graph, const Inference& inference) {
  const GraphIndex index(graph);
  GraphCopy copy(graph, graph.without_nodes());
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.kind == NodeKind::Input && concrete_shape(inference.of({id, 0}))) {
      Node input = node;
      input.declared.shape = declared_as(inference.of({id, 0})).shape;
      copy.set({id, 0}, {copy.add(std::move(input)), 0});
      continue;
    }
    bool is_known = node.kind == NodeKind::Operator && !node.outputs.empty() && node.captures.empty();
    for (std::uint32_t k = 0; is_known && k < node.outputs.size(); ++k)
      is_known = !index.is_output({id, k}) &&
                 (node.outputs[k].empty() || known_tensor(inference.of({id, k})).has_value());
    if (!is_known) {
      copy.copy(id);
      continue;
    }
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
      if (!node.outputs[k].empty())
        copy.set({id, k}, {copy.add(initializer(node.outputs[k], *known_tensor(inference.of({id, k})))), 0});
  }
  for (const Value& v : graph.outputs())
    if (concrete_shape(inference.of(v))) copy.graph().declare(graph.name_of(v), declared_as(inference.of(v)));
  return copy.finish();
}

class Cutter {
 public:
  Cutter(CutModel& cut, const CutOptions& options)
      : cut_(cut), options_(options), graph_(cut.model.graph), index_(graph_) {}

  void run() {
    cut_.constants = constant_nodes(
        graph_, [&](NodeId id) { return !graph_.is_overridable(id) && graph_.node(id).captures.empty(); });
    make_order();
    count_crossings();
    for (std::size_t begin = 0; begin < order_.size();) {
      const std::size_t end = end_of_layer(begin);
      if (is_closed_[begin]) ++cut_.closed;
      else cut_layer(begin, end);
      begin = end;
    }
    join_small(options_.most_segments);
    if (cut_.closed > 0)
      std::erase_if(cut_.segments,
                    [&](const Segment& s) { return s.operations < options_.least_operations; });
  }

 private:
  bool can_hold(Value v) const {
    if (!v.exists()) return true;
    const ValueInfo& info = cut_.inference.of(v);
    return concrete_shape(info) && is_computable(info.type);
  }
  bool can_compile(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!node.captures.empty() || !node.bodies.empty() || cut_.inference.opaque.contains(id)) return false;
    bool has_output = false;
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k].empty()) continue;
      has_output = true;
      if (!can_hold({id, k})) return false;
    }
    return has_output && std::ranges::all_of(node.inputs, [&](Value v) { return can_hold(v); });
  }

  // By how many closed nodes lie before them; closed ones behind the others.
  void make_order() {
    struct Key {
      std::size_t depth, place;
      bool is_closed;
      NodeId node;
    };
    std::map<NodeId, std::size_t> depth_behind;
    std::vector<Key> keys;
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (node.kind != NodeKind::Operator || cut_.constants.contains(id)) continue;
      std::size_t depth = 0;
      for (const auto* values : {&node.inputs, &node.captures})
        for (const Value& v : *values)
          if (const auto at = depth_behind.find(v.node); v.exists() && at != depth_behind.end())
            depth = std::max(depth, at->second);
      const bool is_closed = !can_compile(id);
      depth_behind[id] = depth + (is_closed ? 1 : 0);
      keys.push_back({depth, keys.size(), is_closed, id});
    }
    std::ranges::sort(keys, [](const Key& a, const Key& b) {
      return std::tuple(a.depth, a.is_closed, a.place) < std::tuple(b.depth, b.is_closed, b.place);
    });
    for (const Key& key : keys) {
      place_[key.node] = order_.size();
      order_.push_back(key.node);
      is_closed_.push_back(key.is_closed);
    }
  }
  std::size_t end_of_layer(std::size_t begin) const {
    std::size_t end = begin + 1;
    while (!is_closed_[begin] && end < order_.size() && !is_closed_[end]) ++end;
    return end;
  }

  std::int64_t bytes_of(Value v) const {
    const ValueInfo& info = cut_.inference.of(v);
    const auto extents = concrete_shape(info);
    const auto bytes = extents ? byte_size(info.type, *extents) : std::nullopt;
    return static_cast<std::int64_t>(bytes.value_or(0));
  }
  void count_crossings() {
    std::vector<std::int64_t> bytes(order_.size() + 1, 0);
    std::vector<int> count(order_.size() + 1, 0);
    std::map<std::size_t, std::vector<std::string>> begins, ends;
    for (const auto& [value, first, last] : crossings(index_, place_, cut_.constants)) {
      const std::int64_t size = bytes_of(value);
      ++count[first], --count[last + 1];
      bytes[first] += size, bytes[last + 1] -= size;
      begins[first].push_back(graph_.name_of(value));
      ends[last + 1].push_back(graph_.name_of(value));
    }
    find_borders(begins, ends);
    for (std::size_t k = 1; k <= order_.size(); ++k) count[k] += count[k - 1], bytes[k] += bytes[k - 1];
    crossings_ = std::move(count);
    crossing_bytes_ = std::move(bytes);
  }

  using Names = std::map<std::size_t, std::vector<std::string>>;
  // Places where the values cross that options name.
  void find_borders(const Names& begins, const Names& ends) {
    if (options_.borders.empty()) return;
    Border now;
    for (std::size_t k = 0; k < order_.size(); ++k) {
      if (const auto at = ends.find(k); at != ends.end())
        for (const std::string& name : at->second) now.erase(name);
      if (const auto at = begins.find(k); at != begins.end())
        now.insert(at->second.begin(), at->second.end());
      const auto found = std::ranges::find(options_.borders, now);
      if (found == options_.borders.end()) continue;
      // Nodes that do not change the crossing values may stand before it or after it: the first place counts.
      const auto number = static_cast<std::size_t>(found - options_.borders.begin());
      if (borders_.empty() || borders_.rbegin()->second < number) borders_.emplace(k, number);
    }
  }

  bool is_waist(const std::vector<std::size_t>& places, std::size_t p) const {
    const std::size_t end = std::min(places.size(), p + kWindow + 1);
    for (std::size_t q = p < kWindow ? 0 : p - kWindow; q < end; ++q) {
      if (crossings_[places[q]] < crossings_[places[p]]) return false;
      const bool is_near = (q < p ? p - q : q - p) <= kNear;
      if (is_near && crossings_[places[q]] == crossings_[places[p]] &&
          crossing_bytes_[places[q]] < crossing_bytes_[places[p]])
        return false;
    }
    return true;
  }

  // Elementwise nodes and those that only move data stay with what they follow: both engines fuse them.
  void cut_layer(std::size_t begin, std::size_t end) {
    std::vector<std::size_t> places;
    std::vector<double> operations(end - begin, 0);
    for (std::size_t k = begin; k < end; ++k) {
      const Definition definition = define_node(graph_, cut_.inference, order_[k]);
      const auto* formula = std::get_if<Formula>(&definition);
      if (formula == nullptr) continue;
      if (const auto count = cost(*formula).operations.value())
        operations[k - begin] = static_cast<double>(*count);
      if (k > begin && has_reductions(*formula)) places.push_back(k);
    }
    std::vector<std::size_t> cuts{begin};
    for (std::size_t p = 0; p < places.size(); ++p)
      if (is_waist(places, p)) cuts.push_back(places[p]);
    for (const auto& [place, number] : borders_)
      if (place > begin && place < end) cuts.push_back(place);
    cuts.push_back(end);
    std::ranges::sort(cuts);
    const auto same = std::ranges::unique(cuts);
    cuts.erase(same.begin(), same.end());
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
      Segment segment{.layer = layers_, .entering_bytes = crossing_bytes_[cuts[c]]};
      if (const auto at = borders_.find(cuts[c]); at != borders_.end()) segment.border = at->second;
      for (std::size_t k = cuts[c]; k < cuts[c + 1]; ++k) {
        segment.nodes.push_back(order_[k]);
        segment.operations += operations[k - begin];
      }
      cut_.segments.push_back(std::move(segment));
    }
    ++layers_;
  }

  void join_small(std::size_t most) {
    std::vector<Segment>& segments = cut_.segments;
    double all = 0;
    for (const Segment& s : segments) all += s.operations;
    while (true) {
      // The pair that is the smallest together, of those that have a reason to be joined.
      std::optional<std::size_t> best;
      for (std::size_t k = 0; k + 1 < segments.size(); ++k) {
        const Segment &a = segments[k], &b = segments[k + 1];
        if (a.layer != b.layer || b.border) continue;
        if (segments.size() <= most && std::min(a.operations, b.operations) >= kLeastShare * all) continue;
        if (!best ||
            a.operations + b.operations < segments[*best].operations + segments[*best + 1].operations)
          best = k;
      }
      if (!best) return;
      Segment &a = segments[*best], &b = segments[*best + 1];
      a.nodes.insert(a.nodes.end(), b.nodes.begin(), b.nodes.end());
      a.operations += b.operations;
      segments.erase(segments.begin() + static_cast<std::ptrdiff_t>(*best) + 1);
    }
  }

  CutModel& cut_;
  const CutOptions& options_;
  const Graph& graph_;
  GraphIndex index_;
  std::vector<NodeId> order_;  // operators that are no constants
  std::vector<bool> is_closed_;
  std::map<NodeId, std::size_t> place_;
  std::vector<int> crossings_;  // before each place of the order
  std::vector<std::int64_t> crossing_bytes_;
  std::map<std::size_t, std::size_t> borders_;  // of options, by place
  std::size_t layers_ = 0;
};

}  // namespace

Result<CutModel> cut_model(const Model& model, const InferOptions& sizes, const CutOptions& options) {
  ISOMER_TRY_DO(need_sizes(model.graph, sizes));
  CutModel out;
  ISOMER_TRY(const Graph flat, flatten(model.graph, sizes));
  ISOMER_TRY(const Inference first, infer(flat, sizes));
  // A model of its own, whose inputs are as large as they were said to be.
  constexpr std::int64_t kLeastIr = 8;
  out.model.ir_version = std::max(model.ir_version, kLeastIr);
  out.model.graph = with_known_sizes(flat, first);
  for (const NodeId id : out.model.graph.order())
    if (out.model.graph.is_call(out.model.graph.node(id)))
      return Error{fmt::format("{} calls a function that imports other opsets than the model",
                               label(out.model.graph.node(id)))};
  ISOMER_TRY(out.inference, infer(out.model.graph));
  Cutter(out, options).run();
  return out;
}

std::vector<Border> borders_of(const CutModel& cut) {
  const Graph& graph = cut.model.graph;
  std::map<NodeId, std::size_t> segment_of;
  for (std::size_t k = 0; k < cut.segments.size(); ++k)
    for (const NodeId id : cut.segments[k].nodes) segment_of[id] = k;
  std::vector<Border> out(cut.segments.empty() ? 0 : cut.segments.size() - 1);
  const GraphIndex index(graph);
  for (const auto& [value, readers] : index.all_readers()) {
    if (cut.constants.contains(value.node)) continue;
    const auto made = segment_of.find(value.node);
    const std::size_t first = made == segment_of.end() ? 0 : made->second + 1;
    std::size_t last = 0;
    for (const NodeId r : readers)
      if (const auto at = segment_of.find(r); at != segment_of.end()) last = std::max(last, at->second);
    for (std::size_t k = std::max<std::size_t>(first, 1); k <= last; ++k)
      out[k - 1].insert(graph.name_of(value));
  }
  return out;
}

std::vector<NodeId> nodes_of(const CutModel& cut, std::size_t first, std::size_t count) {
  std::vector<NodeId> nodes;
  for (std::size_t k = first; k < first + count; ++k)
    nodes.insert(nodes.end(), cut.segments[k].nodes.begin(), cut.segments[k].nodes.end());
  return nodes;
}

}  // namespace isomer
