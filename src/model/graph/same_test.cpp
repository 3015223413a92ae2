#include "model/graph/same.h"

#include "model/graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;

const FunctionName kF{"own", "F"};

// y = F(x), where F was written out or not.
Graph calling(const std::string& op, const std::string& digest, bool is_written_out, int opset = 18) {
  Graph graph = parsed("<opset_import: [\"\" : 18, \"own\" : 1]> g (float[N] x) => () {}");
  graph.functions.write().emplace(kF, digest);
  Node node;
  node.op = kF.name;
  node.domain = kF.domain;
  node.inputs = {graph.inputs()[0]};
  node.outputs = {"y"};
  if (is_written_out) {
    Graph body = parsed("<opset_import: [\"\" : 18]> F (float[N] a) => (b) {b = " + op + "(a)}");
    body.opsets[""] = opset;
    node.bodies = {{.attribute = "", .graph = std::make_shared<Graph>(std::move(body)), .captured = {}}};
  }
  graph.add_output({graph.add(std::move(node)), 0});
  return graph;
}

bool inside(const Graph& a, const Graph& b) {
  return same_inside(a, a.node(a.outputs()[0].node), b, b.node(b.outputs()[0].node));
}

TEST(Same, AFunctionIsWhatItSaysAndNotItsName) {
  EXPECT_TRUE(inside(calling("Neg", "1", true), calling("Neg", "1", true)));
  EXPECT_FALSE(inside(calling("Neg", "1", true), calling("Abs", "1", true)));
  // Written out, only what is called counts.
  EXPECT_TRUE(inside(calling("Neg", "1", true), calling("Neg", "2", true)));
  EXPECT_FALSE(first_difference(calling("Neg", "1", true), calling("Neg", "1", true)).has_value());
  EXPECT_EQ(first_difference(calling("Neg", "1", true), calling("Neg", "2", true)),
            "function own.F is not the same");
}

TEST(Same, AFunctionThatWasNotWrittenOutIsComparedByItsDigest) {
  EXPECT_TRUE(inside(calling("Neg", "1", false), calling("Neg", "1", false)));
  EXPECT_FALSE(inside(calling("Neg", "1", false), calling("Neg", "2", false)));
  EXPECT_FALSE(inside(calling("Neg", "1", false), calling("Neg", "1", true)));
  Graph unknown = calling("Neg", "1", false);
  unknown.functions.write().clear();
  EXPECT_FALSE(inside(calling("Neg", "1", false), unknown));
}

TEST(Same, OperatorsOfAnotherOpsetAreOthers) {
  EXPECT_FALSE(inside(calling("Softmax", "1", true, 11), calling("Softmax", "1", true, 13)));
}

TEST(Same, WhatAnAttributeHasInOtherFilesIsAPartOfIt) {
  const auto raw = [](const std::string& place, float element) {
    return RawAttribute{.bytes = "message and " + place,
                        .is_graph = true,
                        .without_places = "message",
                        .outside = {Tensor::of<float>(ElementType::Float, {1}, {element})}};
  };
  EXPECT_TRUE(raw("here", 1) == raw("there", 1));
  EXPECT_FALSE(raw("here", 1) == raw("here", 2));
  RawAttribute inline_one{.bytes = "message", .is_graph = true};
  EXPECT_FALSE(inline_one == raw("here", 1));
}

}  // namespace
}  // namespace isomer
