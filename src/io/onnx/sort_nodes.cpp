#include "io/onnx/sort_nodes.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/onnx/read_bodies.h"

namespace isomer::wire {
namespace {

using Makers = std::unordered_map<std::string_view, int>;

// Numbers of the nodes that make what a node or a body in it names. A name that a body makes itself is none
// of the graph's: ONNX forbids it to hide one.
std::vector<int> read_nodes(const onnx::NodeProto& node, const Makers& makers) {
  std::vector<int> out;
  const auto add = [&](const std::string& name) {
    if (const auto maker = makers.find(name); maker != makers.end()) out.push_back(maker->second);
  };
  for (std::vector<const onnx::NodeProto*> open{&node}; !open.empty();) {
    const onnx::NodeProto& now = *open.back();
    open.pop_back();
    for (const std::string& input : now.input()) add(input);
    for (const onnx::GraphProto* body : bodies_of(now)) {
      for (const auto& output : body->output()) add(output.name());
      for (const auto& inner : body->node()) open.push_back(&inner);
    }
  }
  return out;
}

struct Visit {
  int node;
  std::vector<int> reads;
  std::size_t next = 0;
};

// The nodes' numbers, each after those that it reads; shorter where there is a cycle.
std::vector<int> sorted_order(const onnx::GraphProto& graph, const Makers& makers) {
  enum State : char { New, Open, Done };
  std::vector<State> states(static_cast<std::size_t>(graph.node_size()), New);
  std::vector<int> order;
  for (int first = 0; first < graph.node_size(); ++first) {
    if (states[static_cast<std::size_t>(first)] != New) continue;
    std::vector<Visit> path;
    const auto enter = [&](int node) {
      states[static_cast<std::size_t>(node)] = Open;
      path.push_back({node, read_nodes(graph.node(node), makers)});
    };
    enter(first);
    while (!path.empty()) {
      Visit& now = path.back();
      if (now.next == now.reads.size()) {
        states[static_cast<std::size_t>(now.node)] = Done;
        order.push_back(now.node);
        path.pop_back();
        continue;
      }
      const int read = now.reads[now.next++];
      if (states[static_cast<std::size_t>(read)] == Open) return order;
      if (states[static_cast<std::size_t>(read)] == New) enter(read);
    }
  }
  return order;
}

}  // namespace

bool sort_nodes(onnx::GraphProto& graph) {
  Makers makers;
  for (int k = 0; k < graph.node_size(); ++k)
    for (const std::string& output : graph.node(k).output())
      if (!output.empty()) makers.try_emplace(output, k);
  std::vector<int> order = sorted_order(graph, makers);
  if (order.size() != static_cast<std::size_t>(graph.node_size()) || std::ranges::is_sorted(order))
    return false;
  for (int k = 0; k < graph.node_size(); ++k) {
    // Place k gets the node that was at order[k], wherever it has gone since.
    int from = order[static_cast<std::size_t>(k)];
    while (from < k) from = order[static_cast<std::size_t>(from)];
    graph.mutable_node()->SwapElements(k, from);
  }
  return true;
}

}  // namespace isomer::wire
