#include "model/graph/graph_index.h"

#include <gtest/gtest.h>

#include "model/graph/testing.h"

namespace isomer {
namespace {

Graph example() {
  return testing::parsed(
      "<ir_version: 8, opset_import: [\"\" : 18]>\n"
      "agraph (float[2] x) => (float[2] y, float[2] s) <float[2] a = {1, 2}, float[2] b = {3, 4}> {\n"
      "c = Add(a, b)\nd = Neg(c)\ns = Mul(x, d)\nt = Mul(s, s)\ny = Add(t, x)\n}");
}

TEST(GraphIndex, KnowsWhoReadsAValueAndWhatANameMeans) {
  const Graph graph = example();
  const GraphIndex index(graph);
  const Value s = *index.find("s"), c = *index.find("c");
  EXPECT_FALSE(index.find("nobody").has_value());
  EXPECT_EQ(index.readers(s), std::vector{index.find("t")->node});  // twice, and counted once
  EXPECT_TRUE(index.is_output(s));
  EXPECT_FALSE(index.is_output(c));
  EXPECT_EQ(index.only_reader(c), index.find("d")->node);
  EXPECT_FALSE(index.only_reader(*index.find("y")).has_value());
  EXPECT_LT(index.position(c.node), index.position(s.node));
}

TEST(GraphIndex, WhatReadsConstantsOnlyIsConstantUnlessSomebodySaysNo) {
  const Graph graph = example();
  const GraphIndex index(graph);
  const auto all = constant_nodes(graph, [](NodeId) { return true; });
  EXPECT_TRUE(all.contains(index.find("d")->node));
  EXPECT_FALSE(all.contains(index.find("s")->node));
  EXPECT_FALSE(all.contains(index.find("x")->node));
  const auto fewer = constant_nodes(graph, [&](NodeId id) { return graph.node(id).op != "Add"; });
  EXPECT_TRUE(fewer.contains(index.find("a")->node));
  EXPECT_FALSE(fewer.contains(index.find("d")->node));
}

}  // namespace
}  // namespace isomer
