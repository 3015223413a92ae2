#include "optimizer/search/features.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/hash.h"
#include "model/graph/graph_index.h"
#include "optimizer/facts/price.h"

namespace isomer {
namespace {

constexpr std::size_t kHashDigits = 8;
constexpr int kStepsBack = 2;

// Whether the values are numbers that a model is about, and not sizes or places.
bool is_number(ElementType type) {
  using enum ElementType;
  return type != Int64 && type != Int32 && type != Bool && type != String;
}

class Census {
 public:
  Census(const Graph& graph, const Inference& inference) : graph_(graph), inference_(inference) {
    constants_ = folded_nodes(graph);
    for (const NodeId id : graph.order())
      if (is_counted(id)) nodes_.push_back(id);
  }

  Features run() {
    Features out;
    count_operators(out);
    count_shape(out);
    count_cost(out);
    for (const NodeId id : nodes_) ++out.blocks[block(id, kStepsBack)];
    return out;
  }

 private:
  bool is_counted(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.kind != NodeKind::Operator || constants_.contains(id) || node.op == "Identity") return false;
    return is_number(inference_.of({id, 0}).type);
  }
  bool is_constant(Value v) const {
    return !v.exists() || constants_.contains(v.node) || graph_.node(v.node).kind == NodeKind::Initializer;
  }

  void count_operators(Features& out) const {
    std::map<std::string, int> counts;
    for (const NodeId id : nodes_) ++counts[graph_.node(id).op];
    out.numbers["nodes"] = static_cast<double>(nodes_.size());
    for (const auto& [op, count] : counts) out.numbers["share." + op] = share(count);
  }

  void count_shape(Features& out) const {
    const GraphIndex index(graph_);
    std::map<NodeId, int> depths;
    int deepest = 0, values = 0, branched = 0;
    for (const NodeId id : nodes_) {
      int depth = 0;
      for (const Value& v : graph_.node(id).inputs)
        if (const auto at = depths.find(v.node); v.exists() && at != depths.end())
          depth = std::max(depth, at->second);
      depths[id] = depth + 1;
      deepest = std::max(deepest, depth + 1);
      for (std::uint32_t k = 0; k < graph_.node(id).outputs.size(); ++k) {
        const std::size_t readers = index.readers({id, k}).size();
        values += readers > 0 ? 1 : 0;
        branched += readers > 1 ? 1 : 0;
      }
    }
    out.numbers["depth"] = share(deepest);
    out.numbers["branching"] = values > 0 ? static_cast<double>(branched) / values : 0;
  }

  void count_cost(Features& out) const {
    double elements = 0;
    for (const NodeId id : nodes_) {
      const auto& shape = inference_.of({id, 0}).shape;
      if (!shape) continue;
      double count = 1;
      for (const Dim& d : *shape)
        count *= static_cast<double>(typical_size(d, unknown_machine()).value_or(1));
      elements += count;
    }
    out.numbers["intensity"] = elements > 0 ? price(graph_, inference_, unknown_machine()) / elements : 0;
  }

  double share(int count) const {
    return nodes_.empty() ? 0 : static_cast<double>(count) / static_cast<double>(nodes_.size());
  }

  // "Conv3x3dw": the operator, and what matters most for what can be done with it.
  std::string label(NodeId id) const {
    const Node& node = graph_.node(id);
    std::string out = node.op;
    if (node.op == "Conv" && node.inputs.size() > 1) return out + convolution(node);
    if (node.inputs.size() > 1 && std::ranges::any_of(node.inputs, [&](Value v) { return is_constant(v); }))
      out += "_c";
    return out;
  }
  std::string convolution(const Node& node) const {
    const auto& shape = inference_.of(node.inputs[1]).shape;
    if (!shape || shape->size() < 3) return "";
    std::string out;
    for (std::size_t k = 2; k < shape->size(); ++k)
      out += (k > 2 ? "x" : "") + ((*shape)[k].is_concrete() ? (*shape)[k].text() : std::string("n"));
    const auto* group = node.attributes.find_as<std::int64_t>("group");
    if (group == nullptr || *group == 1) return out;
    return out + ((*shape)[1].is_concrete() && (*shape)[1].concrete() == 1 ? "dw" : "g");
  }

  std::string block(NodeId id, int steps) const {
    std::string out = label(id);
    if (steps == 0) return out;
    std::vector<std::string> read;
    for (const Value& v : graph_.node(id).inputs)
      if (v.exists() && is_counted(v.node)) read.push_back(block(v.node, steps - 1));
    if (read.empty()) return out;
    std::ranges::sort(read);
    out += '(';
    for (const std::string& r : read) out += (&r == read.data() ? "" : ",") + r;
    return out + ')';
  }

  const Graph& graph_;
  const Inference& inference_;
  std::set<NodeId> constants_;
  std::vector<NodeId> nodes_;  // in the graph's order
};

}  // namespace

Features features_of(const Graph& graph, const Inference& inference) {
  return Census(graph, inference).run();
}

std::string block_hash(std::string_view block) {
  return Hasher().add(block).digest().hex().substr(0, kHashDigits);
}

}  // namespace isomer
