// Random graphs, their mutants and their renamings: the material of the property tests.
#include <algorithm>
#include <functional>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "model/graph/canonical_hash.h"
#include "model/graph/testing.h"

namespace isomer::testing {
namespace {

class Drawer {
 public:
  explicit Drawer(std::mt19937_64& random) : random_(random) {}

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return between(0, 99) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(from.size()) - 1))];
  }
  float real() {
    static const std::vector<float> kOdd = {0.0f, -0.0f,    1.0f,      1e30f, -1e-30f,
                                            0.1f, INFINITY, -INFINITY, NAN,   1e-45f};
    return chance(50) ? pick(kOdd) : static_cast<float>(between(-1000, 1000)) / 7;
  }
  std::string word() {
    static const std::vector<std::string> kWords = {"a",     "b c", "\"", "\\",  "float",
                                                    "x/y:0", "été", "",   "nan", "1"};
    return pick(kWords);
  }
  Tensor tensor() {
    static const std::vector<ElementType> kTypes = {
        ElementType::Float,     ElementType::Double,     ElementType::Int64,     ElementType::Int8,
        ElementType::Uint64,    ElementType::Bool,       ElementType::Float16,   ElementType::Int4,
        ElementType::Complex64, ElementType::String,     ElementType::Uint16,    ElementType::Int32,
        ElementType::Uint2,     ElementType::Float8E5M2, ElementType::Float6E3M2};
    const ElementType type = pick(kTypes);
    Extents extents;
    for (std::int64_t rank = between(0, 3); rank > 0; --rank)
      extents.push_back(between(chance(5) ? 0 : 1, 3));
    if (type == ElementType::String) {
      std::vector<std::string> strings;
      for (std::int64_t n = *element_count(extents); n > 0; --n) strings.push_back(word());
      return {extents, strings};
    }
    std::vector<std::uint8_t> bytes(*byte_size(type, extents));
    for (std::uint8_t& b : bytes)
      b = static_cast<std::uint8_t>(random_() & (type == ElementType::Bool ? 1 : 0x3f));
    // Bits of packed types beyond the last element are zero.
    const std::int64_t used = *element_count(extents) * bits(type);
    if (used % 8 != 0) bytes.back() = static_cast<std::uint8_t>(bytes.back() & ((1 << used % 8) - 1));
    return {type, extents, Bytes::copy_of(bytes.data(), bytes.size())};
  }
  Attribute::Value attribute() {
    switch (between(0, 7)) {
      case 0: return between(-5, 5);
      case 1: return real();
      case 2: return word();
      case 3: return tensor();
      case 4: return std::vector<std::int64_t>(static_cast<std::size_t>(between(0, 3)), between(-9, 9));
      case 5: return std::vector<float>(static_cast<std::size_t>(between(0, 3)), real());
      case 6: return std::vector<std::string>(static_cast<std::size_t>(between(0, 3)), word());
      default: return RawAttribute{word() + '\0', chance(50)};
    }
  }
  DeclaredType type() {
    DeclaredType type{pick<ElementType>({ElementType::Float, ElementType::Int64, ElementType::Bool})};
    if (chance(10)) return {.is_tensor = false, .spelling = "seq(float[N, 3])"};
    if (chance(20)) return type;
    type.shape.emplace();
    for (std::int64_t rank = between(0, 3); rank > 0; --rank) {
      if (chance(20)) type.shape->emplace_back();
      else if (chance(40)) type.shape->emplace_back(Dim::symbol(pick<std::string>({"N", "batch size", "h"})));
      else type.shape->emplace_back(between(1, 9));
    }
    return type;
  }
  Node operation(const std::vector<Value>& values, int number) {
    Node node;
    node.op = pick<std::string>({"Relu", "Add", "Conv", "Split", "Concat"});
    if (chance(10)) node.domain = pick<std::string>({"com.example", "odd domain", "a.b-c"});
    if (chance(5)) node.overload = "v2";
    if (chance(30)) node.name = "node " + std::to_string(number);
    for (std::int64_t n = between(0, 3); n > 0; --n)
      node.inputs.push_back(chance(10) ? Value::none() : pick(values));
    for (std::int64_t n = between(0, 3); n > 0; --n)
      node.attributes.set("attr" + std::to_string(between(0, 5)), attribute());
    if (chance(5)) node.captures.push_back(pick(values));
    for (std::int64_t k = between(1, 3); k > 0; --k)
      node.outputs.push_back(
          k > 1 && chance(20) ? "" : word() + "_" + std::to_string(number) + "." + std::to_string(k));
    return node;
  }

 private:
  std::mt19937_64& random_;
};

// The graph with every node remade by `edit`, which sees the new graph so far.
Graph remade(const Graph& graph, const std::function<void(const Graph&, NodeId, Node&)>& edit) {
  Graph fresh = graph.without_nodes();
  std::unordered_map<NodeId, NodeId> ids;
  const auto moved = [&](Value v) { return v.exists() ? Value{ids.at(v.node), v.output} : v; };
  for (const NodeId id : graph.order()) {
    Node node = graph.node(id);
    for (auto* values : {&node.inputs, &node.captures})
      for (Value& v : *values) v = moved(v);
    edit(fresh, id, node);
    ids[id] = fresh.add(std::move(node));
  }
  for (const Value& input : graph.inputs()) {
    fresh.add_input(moved(input));
    if (graph.is_overridable(input.node)) fresh.mark_overridable(moved(input).node);
  }
  for (const Value& output : graph.outputs()) fresh.add_output(moved(output));
  return fresh;
}

std::vector<NodeId> live_nodes(const Graph& graph) {
  std::unordered_set<NodeId> live;
  for (const Value& v : graph.outputs()) live.insert(v.node);
  std::vector<NodeId> found;
  for (const NodeId id : std::views::reverse(graph.order())) {
    if (!live.contains(id)) continue;
    found.push_back(id);
    for (const auto* values : {&graph.node(id).inputs, &graph.node(id).captures})
      for (const Value& v : *values) live.insert(v.node);
  }
  return found;
}

// Changes one bit or letter of a tensor; an empty one grows.
Tensor changed(const Tensor& tensor, Drawer& draw) {
  if (tensor.count() == 0) return Tensor::of<float>(ElementType::Float, {1}, {3.5f});
  const auto at = static_cast<std::size_t>(draw.between(0, tensor.count() - 1));
  if (tensor.type() == ElementType::String) {
    auto strings = tensor.strings();
    strings[at] += "!";
    return {tensor.extents(), strings};
  }
  std::vector<std::byte> bytes(tensor.bytes().data, tensor.bytes().data + tensor.bytes().size);
  bytes[at * static_cast<std::size_t>(bits(tensor.type())) / 8] ^= std::byte{1};
  return {tensor.type(), tensor.extents(), Bytes::copy_of(bytes.data(), bytes.size())};
}

std::string mutate_operator(Node& node, const Graph& graph, const CanonicalHashes& hashes, NodeId id,
                            const Graph& fresh, Drawer& draw) {
  switch (draw.between(0, 5)) {
    case 0: node.op += "X"; return "op";
    case 1: node.domain += "x"; return "domain";
    case 2: node.overload += "x"; return "overload";
    case 3: node.attributes.set("new attribute", draw.attribute()); return "attribute added";
    case 4:
      if (node.attributes.all().empty()) break;
      node.attributes =
          Attributes(std::vector<Attribute>(node.attributes.all().begin() + 1, node.attributes.all().end()));
      return "attribute removed";
    default: break;
  }
  // Another value on one edge; where there is none that differs, one more input.
  const auto& old = graph.node(id).inputs;
  // Nodes are remade in their old order: what stands at a position computes the same in both.
  const auto position =
      static_cast<std::size_t>(draw.between(0, static_cast<std::int64_t>(fresh.order().size()) - 1));
  const NodeId other = fresh.order()[position];
  const Digest digest = hashes.of({graph.order()[position], 0});
  for (std::size_t k = 0; k < old.size(); ++k) {
    if (old[k].exists() && hashes.of(old[k]) == digest) continue;
    node.inputs[k] = {other, 0};
    return "edge";
  }
  node.inputs.push_back({other, 0});
  return "edge added";
}

}  // namespace

Graph random_graph(std::mt19937_64& random, int operators) {
  Drawer draw(random);
  Graph graph;
  graph.name = "random";
  graph.opsets = {{"", static_cast<int>(draw.between(7, 22))}, {"com.example", 1}};
  std::vector<Value> values;
  for (std::int64_t n = draw.between(1, 3); n > 0; --n) {
    Node input;
    input.kind = NodeKind::Input;
    input.outputs = {"input" + std::to_string(n)};
    input.declared = draw.type();
    values.push_back({graph.add(std::move(input)), 0});
    graph.add_input(values.back());
  }
  for (std::int64_t n = draw.between(0, 4); n > 0; --n) {
    Node initializer;
    initializer.kind = NodeKind::Initializer;
    initializer.outputs = {draw.word() + " weight" + std::to_string(n)};
    initializer.tensor = draw.tensor();
    const bool overridable = draw.chance(20);
    if (overridable) {
      initializer.declared = {initializer.tensor.type(), std::vector<std::optional<Dim>>{}};
      for (const std::int64_t extent : initializer.tensor.extents())
        initializer.declared.shape->emplace_back(extent);
    }
    values.push_back({graph.add(std::move(initializer)), 0});
    if (!overridable) continue;
    graph.add_input(values.back());
    graph.mark_overridable(values.back().node);
  }
  for (int n = 0; n < operators; ++n) {
    const NodeId id = graph.add(draw.operation(values, n));
    for (std::uint32_t k = 0; k < graph.node(id).outputs.size(); ++k) {
      const std::string& name = graph.node(id).outputs[k];
      if (name.empty()) continue;
      values.push_back({id, k});
      if (draw.chance(20)) graph.declare(name, draw.type());
    }
  }
  for (std::size_t n = 0; n < 3 && n < values.size(); ++n) graph.add_output(values[values.size() - 1 - n]);
  return graph;
}

Mutant mutant(const Graph& graph, std::mt19937_64& random) {
  Drawer draw(random);
  const CanonicalHashes hashes = canonical_hashes(graph);
  const NodeId target = draw.pick(live_nodes(graph));
  std::string what;
  if (draw.chance(5)) {
    Graph other = graph;
    ++other.opsets[""];
    const auto uses_opset = [&](NodeId id) {
      return graph.node(id).kind == NodeKind::Operator && graph.node(id).domain.empty();
    };
    if (std::ranges::any_of(live_nodes(graph), uses_opset)) return {other, "opset"};
  }
  Graph fresh = remade(graph, [&](const Graph& so_far, NodeId id, Node& node) {
    if (id != target) return;
    if (node.kind == NodeKind::Operator) {
      what = mutate_operator(node, graph, hashes, id, so_far, draw);
    } else if (node.kind == NodeKind::Initializer) {
      node.tensor = changed(node.tensor, draw);
      what = "constant";
    } else {
      node.declared.type = node.declared.type == ElementType::Int32 ? ElementType::Int8 : ElementType::Int32;
      what = "input type";
    }
  });
  return {std::move(fresh), what};
}

Graph renamed(const Graph& graph) {
  Graph fresh = remade(graph, [](const Graph&, NodeId id, Node& node) {
    node.name = "other " + std::to_string(id);
    node.extras = "doc";
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      if (!node.outputs[k].empty()) node.outputs[k] = "n" + std::to_string(id) + "_" + std::to_string(k);
  });
  fresh.name = "other";
  return fresh;
}

TEST(RandomGraph, IsTheSameForTheSameSeed) {
  std::mt19937_64 a(7), b(7), c(8);
  const std::string first = text(random_graph(a, 20));
  EXPECT_EQ(first, text(random_graph(b, 20)));
  EXPECT_NE(first, text(random_graph(c, 20)));
}

}  // namespace isomer::testing
