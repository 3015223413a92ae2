#include "app/report/node_times.h"

#include <gmock/gmock.h>

namespace isomer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NodeTimes, MarksAreFoundInNamesThatARuntimeMade) {
  EXPECT_THAT(marks_in("@12@"), ElementsAre(12));
  EXPECT_THAT(marks_in("fused @3@"), ElementsAre(3));
  EXPECT_THAT(marks_in("@3@_@40@/MatMulAddFusion/_token_7"), ElementsAre(3, 40));
  EXPECT_THAT(marks_in("@3@@3@"), ElementsAre(3));
  EXPECT_THAT(marks_in("@3@1_nchwc"), ElementsAre(3));
  EXPECT_THAT(marks_in("Reorder@x @ 3@ @@ @99999999999999999999999@"), IsEmpty());
}

Node node_of(std::string op, std::vector<Value> inputs, std::vector<std::string> outputs) {
  Node node;
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

TEST(NodeTimes, AMarkedGraphKeepsTheNamesOfItsInterface) {
  Graph graph;
  Node input;
  input.kind = NodeKind::Input;
  input.outputs = {"x"};
  const NodeId x = graph.add(std::move(input));
  graph.add_input({x, 0});
  const NodeId a = graph.add(node_of("Split", {{x, 0}}, {"a", "b"}));
  const NodeId y = graph.add(node_of("Add", {{a, 0}, {a, 1}}, {"y"}));
  graph.add_output({y, 0});
  const Graph marked = with_marks(graph);
  ASSERT_EQ(marked.order().size(), 3u);
  EXPECT_EQ(marked.name_of(marked.inputs()[0]), "x");
  EXPECT_EQ(marked.name_of(marked.outputs()[0]), "y");
  EXPECT_THAT(marked.node(marked.order()[1]).outputs, ElementsAre("@0@", "@0@1"));
  EXPECT_EQ(marked.node(marked.order()[2]).name, "@1@");
}

// x -> Conv @0@ -> Relu @1@ -> MatMul @2@ -> Erf @3@ -> Mul @4@ -> MatMul @5@; nothing is known of its sizes.
Graph chain() {
  Graph graph;
  Node input;
  input.kind = NodeKind::Input;
  input.outputs = {"x"};
  NodeId last = graph.add(std::move(input));
  graph.add_input({last, 0});
  int k = 0;
  for (const char* op : {"Conv", "Relu", "MatMul", "Erf", "Mul", "MatMul"})
    last = graph.add(node_of(op, {{last, 0}}, {"v" + std::to_string(k++)}));
  graph.add_output({last, 0});
  return graph;
}

TEST(NodeTimes, NodesOfOneKernelShareItsTime) {
  const std::vector<KernelKind> kernels{
      {.op = "Conv", .each = {{"@1@_nchwc", 10, 1}}},           // named by its last node
      {.op = "Gemm", .each = {{"@2@/MatMulAddFusion", 4, 3}}},  // the node's own
      {.op = "Gelu", .each = {{"Gelu_token_7", 6, 4}}},         // by no name that is known here
      {.op = "MatMul", .each = {{"@5@", 8, 5}}},
      {.op = "ReorderOutput", .each = {{"ReorderOutput", 1, 2}}}};
  const NodeTimes times = shared_out(chain(), kernels);
  EXPECT_THAT(times.ns, ElementsAre(5, 5, 4, 3, 3, 8));
  EXPECT_EQ(times.others_ns, 1);
}

TEST(NodeTimes, AKernelOfItsOwnIsSharedOnlyWithNodesThatHaveNone) {
  const std::vector<KernelKind> kernels{{.op = "FusedConv", .each = {{"fused @0@", 10, 0}}},
                                        {.op = "MatMul", .each = {{"@2@", 4, 1}, {"@5@", 8, 4}}},
                                        {.op = "Erf", .each = {{"@3@", 2, 2}}},
                                        {.op = "Mul", .each = {{"@4@", 3, 3}}}};
  const NodeTimes times = shared_out(chain(), kernels);
  EXPECT_THAT(times.ns, ElementsAre(5, 5, 4, 2, 3, 8));
}

}  // namespace
}  // namespace isomer
