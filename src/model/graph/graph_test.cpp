#include "model/graph/graph.h"

#include <thread>

#include "model/graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;
using testing::relu;
using testing::relu_chain;
using testing::value_named;

Node initializer(std::string name, Tensor tensor) {
  Node node;
  node.kind = NodeKind::Initializer;
  node.outputs = {std::move(name)};
  node.tensor = std::move(tensor);
  return node;
}

TEST(Graph, StaysAsItWasWhenACopyGrows) {
  const Graph before = relu_chain(3);
  Graph after = before;
  after.add_output({after.add(relu(after.outputs()[0], "more")), 0});
  EXPECT_EQ(before.order().size(), 4u);
  EXPECT_EQ(before.outputs().size(), 1u);
  EXPECT_EQ(after.order().size(), 5u);
  EXPECT_EQ(after.outputs().size(), 2u);
}

TEST(Graph, SharesNodesWithItsCopies) {
  const Graph before = relu_chain(3);
  Graph after = before;
  after.add(relu(after.outputs()[0], "more"));
  for (std::size_t i = 0; i < before.order().size(); ++i)
    EXPECT_EQ(&before.node(before.order()[i]), &after.node(after.order()[i]));
}

TEST(Graph, KeepsOneOfTwoNodesWithEqualContent) {
  Graph graph = relu_chain(1);
  const Value x = graph.inputs()[0];
  const NodeId first = graph.add(relu(x, "y"));
  EXPECT_EQ(graph.add(relu(x, "y")), first);
  EXPECT_EQ(graph.order().size(), 3u);
}

TEST(Graph, NeverMergesNodesWhoseNamesDiffer) {
  Graph graph = relu_chain(1);
  const Value x = graph.inputs()[0];
  const NodeId first = graph.add(relu(x, "y"));
  EXPECT_NE(graph.add(relu(x, "z")), first);
  Node named = relu(x, "y");
  named.name = "other";
  EXPECT_NE(graph.add(named), first);
}

TEST(Graph, NeverMergesNodesWithoutNamedOutputs) {
  Graph graph = relu_chain(1);
  Node print;
  print.op = "Print";
  print.domain = "custom";
  print.inputs = {graph.inputs()[0]};
  EXPECT_NE(graph.add(print), graph.add(print));
  EXPECT_EQ(graph.operator_count(), 3u);
}

TEST(Graph, TellsAttributesApartDownToTheSignOfZero) {
  Graph graph = relu_chain(1);
  const auto with = [&](Attribute::Value value) {
    Node node = relu(graph.inputs()[0], "y");
    node.attributes.set("a", std::move(value));
    return graph.add(node);
  };
  const NodeId zero = with(0.0f);
  EXPECT_EQ(with(0.0f), zero);
  EXPECT_NE(with(-0.0f), zero);
  EXPECT_NE(with(std::int64_t{0}), zero);
  EXPECT_NE(with(std::vector<float>{0.0f}), zero);
  const NodeId nan = with(NAN);
  EXPECT_EQ(with(NAN), nan);
}

TEST(Graph, ComparesSmallTensorsByContentAndLargeOnesByPlace) {
  Graph graph;
  const std::vector<float> small(4, 1.5f), large(2000, 1.5f);
  const auto tensor = [](const std::vector<float>& v) {
    return Tensor::of(ElementType::Float, {static_cast<std::int64_t>(v.size())}, v);
  };
  EXPECT_EQ(graph.add(initializer("w", tensor(small))), graph.add(initializer("w", tensor(small))));
  const Tensor one = tensor(large);
  const NodeId first = graph.add(initializer("v", one));
  EXPECT_EQ(graph.add(initializer("v", one)), first);
  EXPECT_NE(graph.add(initializer("v", tensor(large))), first);
}

TEST(Graph, TellsTensorsOfEqualBytesAndDifferentExtentsApart) {
  Graph graph;
  const std::vector<float> values(6, 1.0f);
  const NodeId first = graph.add(initializer("w", Tensor::of(ElementType::Float, {2, 3}, values)));
  EXPECT_NE(graph.add(initializer("w", Tensor::of(ElementType::Float, {3, 2}, values))), first);
}

TEST(Graph, ListsTheReadersOfEachValueOnceAndInOrder) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[2] x, bool c) => (float[2] z) {
    y = Add (x, x)
    z = Mul (x, y)
    w = If <else_branch: raw_graph = "00", then_branch: raw_graph = "00", captures: values = [y]> (c)
  })");
  const auto readers = graph.consumers();
  const NodeId y = value_named(graph, "y").node, z = value_named(graph, "z").node,
               w = value_named(graph, "w").node;
  EXPECT_EQ(readers.at(value_named(graph, "x")), (std::vector{y, z}));
  EXPECT_EQ(readers.at(value_named(graph, "y")), (std::vector{z, w}));
  EXPECT_FALSE(readers.contains(value_named(graph, "z")));
}

TEST(Graph, RefusesToReadWhatItDoesNotContain) {
  Graph graph = relu_chain(2), other = relu_chain(5);
  EXPECT_THROW(graph.add(relu(other.outputs()[0], "y")), InternalError);
  EXPECT_THROW(graph.add(relu({graph.inputs()[0].node, 1}, "y")), InternalError);
  EXPECT_THROW(graph.add_output({99, 0}), InternalError);
}

TEST(Graph, KnowsWhichInitializersMayBeOverridden) {
  const Graph graph = parsed(R"(<opset_import: ["" : 17]> g (float[1] x, float[1] v = {2}) => (float[1] y)
    <float[1] w = {1}> { y = Sum (x, v, w) })");
  EXPECT_TRUE(graph.is_overridable(value_named(graph, "v").node));
  EXPECT_FALSE(graph.is_overridable(value_named(graph, "w").node));
  EXPECT_EQ(graph.inputs().size(), 2u);
}

TEST(Graph, LabelsANodeByItsNameOrByWhatItProduces) {
  Node node = relu(Value::none(), "y");
  EXPECT_EQ(label(node), "Relu producing y");
  node.name = "/layer/relu";
  EXPECT_EQ(label(node), "/layer/relu");
}

TEST(Graph, GrowsFromManyThreadsAtOnce) {
  const Graph base = relu_chain(10);
  std::vector<Graph> grown(4, base);
  std::vector<std::thread> threads;
  threads.reserve(grown.size());
  for (Graph& graph : grown) {
    threads.emplace_back([&graph] {
      Value last = graph.outputs()[0];
      for (int i = 0; i < 2000; ++i) last = {graph.add(relu(last, "t" + std::to_string(i))), 0};
      graph.add_output(last);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Graph& graph : grown) EXPECT_EQ(graph.order(), grown[0].order());
  EXPECT_EQ(base.order().size(), 11u);
}

TEST(Graph, HoldsAndFreesAChainOf200000Nodes) {
  const Graph graph = relu_chain(200'000);
  EXPECT_EQ(graph.operator_count(), 200'000u);
  EXPECT_EQ(graph.consumers().size(), 200'000u);
}

}  // namespace
}  // namespace isomer
