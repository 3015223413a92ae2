#include "model/graph/infer_bodies.h"

#include "model/graph/flatten.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;
using testing::value_named;

Graph program(const std::string& text) { return parsed("<opset_import: [\"\" : 17, \"own\" : 1]>\n" + text); }

Body body(const std::string& attribute, const std::string& text, std::vector<std::uint32_t> captured = {}) {
  return {.attribute = attribute,
          .graph = std::make_shared<Graph>(program(text)),
          .captured = std::move(captured)};
}

void add(Graph& graph, const std::string& op, const std::vector<std::string>& inputs,
         std::vector<std::string> outputs, std::vector<Body> bodies,
         const std::vector<std::string>& captures = {}) {
  Node node;
  node.op = op;
  if (op == "f") node.domain = "own";
  for (const std::string& i : inputs)
    node.inputs.push_back(i.empty() ? Value::none() : value_named(graph, i));
  for (const std::string& c : captures) node.captures.push_back(value_named(graph, c));
  node.outputs = std::move(outputs);
  node.bodies = std::move(bodies);
  graph.add(std::move(node));
}

Inference inferred(const Graph& graph) {
  auto result = infer(graph);
  if (!result.ok()) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}

Dim extent(const Graph& graph, const Inference& inference, const std::string& name, std::size_t axis) {
  return inference.of(value_named(graph, name)).shape.value().at(axis);
}

const std::string kInputs = "g (float[n] x, float[n] z, bool c, int64 k) => () {}";

TEST(InferBodies, TwoCallsOfAFunctionHaveExtentsOfTheirOwn) {
  Graph graph = program(kInputs);
  graph.functions.write().emplace(FunctionName{"own", "f"}, "");
  for (const auto& [in, out] : {std::pair("x", "a"), {"z", "b"}})
    add(graph, "f", {in}, {out}, {body("", "f (float[] v) => (r) {r = NonZero(v)}")});
  const Inference inference = inferred(graph);
  EXPECT_FALSE(extent(graph, inference, "a", 1) == extent(graph, inference, "b", 1));
  EXPECT_EQ(inference.made.size(), 2u);
}

TEST(InferBodies, TwoIfsAndTheirBranchesHaveExtentsOfTheirOwn) {
  Graph graph = program(kInputs);
  for (const auto& [in, out] : {std::pair("x", "a"), {"z", "b"}})
    add(graph, "If", {"c"}, {out},
        {body("then_branch", "t (float[] v) => (int64[1, k] r) {r = NonZero(v)}", {0}),
         body("else_branch", "e (float[] v) => (int64[1, k] r) {r = NonZero(v)}", {0})},
        {in});
  const Inference inference = inferred(graph);
  EXPECT_FALSE(extent(graph, inference, "a", 1) == extent(graph, inference, "b", 1));
}

TEST(InferBodies, ANewSymbolOfABodyIsNoneOfTheGraphOutside) {
  Graph graph = program("g (float[\"?r.1\"] x, float[?] r) => () {}");
  graph.functions.write().emplace(FunctionName{"own", "f"}, "");
  add(graph, "f", {"x"}, {"a"}, {body("", "f (float[] v) => (r) {r = NonZero(v)}")});
  const Inference inference = inferred(graph);
  EXPECT_FALSE(extent(graph, inference, "a", 1) == extent(graph, inference, "x", 0));
  EXPECT_EQ(extent(graph, inference, "r", 0).text(), "?r.0");
}

TEST(InferBodies, WhatABodyDeclaresOfExtentsIsNotBelieved) {
  Graph graph = program(kInputs);
  add(graph, "If", {"c"}, {"a"},
      {body("then_branch", "t (float[] v) => (float[n] u) {u = Unique(v)}", {0}),
       body("else_branch", "e (float[] v) => (float[n] u) {u = Unique(v)}", {0})},
      {"x"});
  const Inference inference = inferred(graph);
  const ValueInfo& info = inference.of(value_named(graph, "a"));
  EXPECT_EQ(info.type, ElementType::Float);
  EXPECT_FALSE(info.shape && info.shape->at(0) == extent(graph, inference, "x", 0));
}

// The body carries h, which grows, and collects it: the size of one iteration is not that of the end.
Graph looping(const std::string& trips) {
  Graph graph = program(kInputs);
  Node count;
  count.kind = NodeKind::Initializer;
  count.outputs = {"two"};
  count.tensor = Tensor::of<std::int64_t>(ElementType::Int64, {}, {2});
  graph.add(std::move(count));
  add(graph, "Loop", {trips, "", "x"}, {"last", "all", "kept"},
      {body("body",
            "b (int64 i, bool go, float[] h, float[] z) => (on, next, h, z) {\n"
            "on = Identity(go)\nnext = Concat<axis = 0>(h, z)}",
            {0})},
      {"z"});
  return graph;
}

TEST(InferBodies, WhatALoopCollectsIsNotAsLongAsWhatItCarriesToTheEnd) {
  const Graph graph = looping("two");
  const Inference inference = inferred(graph);
  EXPECT_FALSE(extent(graph, inference, "last", 0) == extent(graph, inference, "all", 1));
  EXPECT_EQ(extent(graph, inference, "kept", 1).text(), "n");
}

TEST(InferBodies, ALoopThatMayNotRunSaysNothingOfTheExtentsThatItCollects) {
  const Graph graph = looping("k");
  const Inference inference = inferred(graph);
  EXPECT_NE(extent(graph, inference, "kept", 1).text(), "n");
}

TEST(InferBodies, AScanOverAnUnknownLengthSaysNothingOfIt) {
  Graph graph = program("g (float[] x, float[0, n] none, float[2, n] two) => () {}");
  for (const std::string in : {"x", "none", "two"}) {
    add(graph, "Scan", {in}, {"y" + in}, {body("body", "b (float[] v) => (r) {r = Neg(v)}")});
    const Value made = value_named(graph, "y" + in);
    Node node = graph.node(made.node);
    node.attributes.set("num_scan_inputs", std::int64_t{1});
    node.outputs = {"of_" + in};
    graph.add(std::move(node));
  }
  const Inference inference = inferred(graph);
  EXPECT_FALSE(inference.of(value_named(graph, "of_x")).shape.has_value());
  EXPECT_EQ(extent(graph, inference, "of_two", 1).text(), "n");
  EXPECT_NE(extent(graph, inference, "of_none", 1).text(), "n");
}

TEST(Flatten, GivesNoNameThatTheFileDeclaresSomethingOf) {
  Graph graph = program(kInputs);
  graph.functions.write().emplace(FunctionName{"own", "f"}, "");
  graph.declare("f producing a/u", {.type = ElementType::Int64});
  add(graph, "f", {"x"}, {"a"}, {body("", "f (float[] v) => (r) {u = own.Op(v)\nr = Identity(u)}")});
  graph.add_output(value_named(graph, "a"));
  const auto flat = flatten(graph);
  ASSERT_TRUE(flat.ok());
  const Inference inference = inferred(*flat);
  EXPECT_EQ(inference.of(value_named(*flat, "a")).type, ElementType::Undefined);
}

}  // namespace
}  // namespace isomer
