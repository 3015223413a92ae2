#include "model/graph/graph.h"

#include <algorithm>

#include "model/graph/node_store.h"

namespace isomer {

std::string label(const Node& node) {
  if (node.kind != NodeKind::Operator)
    return node.outputs.empty() ? std::string("an input") : node.outputs.front();
  if (!node.name.empty()) return node.name;
  const auto named =
      std::ranges::find_if(node.outputs, [](const std::string& output) { return !output.empty(); });
  return named == node.outputs.end() ? node.op + " without outputs" : node.op + " producing " + *named;
}

Graph::Graph() : store_(std::make_shared<NodeStore>()) {}

void Graph::check_readable(Value value) const {
  ISOMER_CHECK(contains(value.node), "a value of another graph, or of a later node");
  ISOMER_CHECK(value.output < node(value.node).outputs.size(), "the node has fewer outputs");
}

void Graph::check_inputs(const Node& node) const {
  for (const auto* values : {&node.inputs, &node.captures})
    for (const Value& value : *values)
      if (value.exists()) check_readable(value);
  ISOMER_CHECK(node.kind == NodeKind::Operator || node.outputs.size() == 1, "an input has one output");
}

NodeId Graph::add(Node node) {
  check_inputs(node);
  return append(store_->intern(std::move(node)));
}

NodeId Graph::add(NodeId id) {
  check_inputs(node(id));
  return append(id);
}

NodeId Graph::append(NodeId id) {
  if (contains(id)) return id;
  Order& order = order_.write();
  order.nodes.push_back(id);
  if (order.member.size() <= id) order.member.resize(id + std::size_t{1});
  order.member[id] = true;
  return id;
}

void Graph::add_input(Value value) {
  check_readable(value);
  inputs_.push_back(value);
}

void Graph::add_output(Value value) {
  check_readable(value);
  outputs_.push_back(value);
}

const Node& Graph::node(NodeId id) const { return (*store_)[id]; }

const std::string& Graph::name_of(Value value) const {
  static const std::string absent;
  if (!value.exists()) return absent;
  const Node& producer = node(value.node);
  ISOMER_CHECK(value.output < producer.outputs.size());
  return producer.outputs[value.output];
}

std::size_t Graph::operator_count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(order(), [&](NodeId id) { return node(id).kind == NodeKind::Operator; }));
}

bool Graph::is_overridable(NodeId initializer) const {
  return std::ranges::binary_search(overridable_, initializer);
}

void Graph::mark_overridable(NodeId initializer) {
  ISOMER_CHECK(contains(initializer) && node(initializer).kind == NodeKind::Initializer);
  const auto at = std::ranges::lower_bound(overridable_, initializer);
  if (at == overridable_.end() || *at != initializer) overridable_.insert(at, initializer);
}

int Graph::opset(std::string_view domain) const {
  const auto at = opsets.find(domain);
  return at == opsets.end() ? 0 : at->second;
}

bool Graph::is_call(const Node& node) const {
  return !functions->empty() && functions->contains({node.domain, node.op, node.overload});
}

void Graph::declare(std::string value_name, DeclaredType type) {
  declared_.write().insert_or_assign(std::move(value_name), std::move(type));
}

Graph Graph::without_nodes() const {
  Graph empty(*this);
  empty.order_ = CopyOnWrite<Order>();
  empty.inputs_.clear();
  empty.outputs_.clear();
  empty.overridable_.clear();
  return empty;
}

}  // namespace isomer
