#include "report/node_times.h"

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

}  // namespace
}  // namespace isomer
