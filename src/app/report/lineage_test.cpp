#include "app/report/lineage.h"

#include <gmock/gmock.h>

#include "model/graph/names.h"

namespace isomer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// A graph by its lines: operator, what it reads, what it makes.
struct Line {
  std::string op;
  std::vector<std::string> from, to;
};

Graph graph_of(const std::vector<std::string>& inputs, const std::vector<Line>& lines,
               const std::vector<std::string>& outputs) {
  Graph graph;
  ValuesByName names;
  for (const std::string& name : inputs) {
    Node node;
    node.kind = NodeKind::Input;
    node.outputs = {name};
    names[name] = {graph.add(std::move(node)), 0};
    graph.add_input(names[name]);
  }
  for (const Line& line : lines) {
    Node node;
    node.op = line.op;
    node.outputs = line.to;
    for (const std::string& name : line.from) node.inputs.push_back(names.at(name));
    const NodeId id = graph.add(std::move(node));
    for (std::uint32_t k = 0; k < line.to.size(); ++k) names[line.to[k]] = {id, k};
  }
  for (const std::string& name : outputs) graph.add_output(names.at(name));
  return graph;
}

std::vector<std::string> made_by(const Graph& graph, const std::vector<NodeId>& ids) {
  std::vector<std::string> out;
  for (const NodeId id : ids) out.push_back(graph.node(id).outputs[0]);
  return out;
}

Claim claim_of(std::vector<std::string> outputs, const std::vector<std::string>& inputs,
               const std::vector<Line>& lines, const std::vector<std::string>& results) {
  return {.inputs = inputs, .outputs = std::move(outputs), .after = graph_of(inputs, lines, results)};
}

TEST(Lineage, WhatDiesForAReplacementBecomesWhatItMakes) {
  const Graph in =
      graph_of({"x"}, {{"Conv", {"x"}, {"a"}}, {"Relu", {"a"}, {"b"}}, {"Add", {"b", "b"}, {"y"}}}, {"y"});
  const Graph out = graph_of({"x"}, {{"Conv", {"x"}, {"a"}}, {"Mul", {"a"}, {"y"}}}, {"y"});
  const Certificate certificate{.steps = {claim_of({"y"}, {"a"}, {{"Mul", {"a"}, {"new"}}}, {"new"})},
                                .notes = {}};
  const Lineage lineage = lineage_of(in, out, certificate);
  ASSERT_THAT(lineage.changed, SizeIs(1));
  EXPECT_THAT(made_by(in, lineage.changed[0].before), ElementsAre("b", "y"));
  EXPECT_THAT(made_by(out, lineage.changed[0].after), ElementsAre("y"));
  EXPECT_THAT(lineage.changed[0].claims, ElementsAre(0));
  EXPECT_THAT(lineage.kept, SizeIs(1));
}

TEST(Lineage, WhatIsReplacedAgainIsOneRegion) {
  const Graph in = graph_of({"x"}, {{"Conv", {"x"}, {"a"}}, {"Relu", {"a"}, {"y"}}}, {"y"});
  const Graph out = graph_of({"x"}, {{"Tanh", {"x"}, {"y"}}}, {"y"});
  const Certificate certificate{
      .steps = {claim_of({"a"}, {"x"}, {{"Gemm", {"x"}, {"first"}}}, {"first"}), FoldStep{},
                claim_of({"y"}, {"x"}, {{"Tanh", {"x"}, {"second"}}}, {"second"})},
      .notes = {}};
  const Lineage lineage = lineage_of(in, out, certificate);
  ASSERT_THAT(lineage.changed, SizeIs(1));
  EXPECT_THAT(made_by(in, lineage.changed[0].before), ElementsAre("a", "y"));
  EXPECT_THAT(lineage.changed[0].claims, ElementsAre(0, 1));
}

TEST(Lineage, WhatReplacesSeveralValuesHasTheNameOfTheFirst) {
  const Graph in =
      graph_of({"x"}, {{"Sin", {"x"}, {"a"}}, {"Sin", {"x"}, {"b"}}, {"Add", {"a", "b"}, {"y"}}}, {"y"});
  const Graph out = graph_of({"x"}, {{"Sin", {"x"}, {"a"}}, {"Add", {"a", "a"}, {"y"}}}, {"y"});
  const Certificate certificate{
      .steps = {claim_of({"a", "b"}, {"x"}, {{"Sin", {"x"}, {"one"}}}, {"one", "one"})}, .notes = {}};
  const Lineage lineage = lineage_of(in, out, certificate);
  ASSERT_THAT(lineage.changed, SizeIs(1));
  EXPECT_THAT(made_by(in, lineage.changed[0].before), ElementsAre("a", "b"));
  EXPECT_THAT(made_by(out, lineage.changed[0].after), ElementsAre("a"));
}

TEST(Lineage, WhatIsComputedBeforehandVanishes) {
  const Graph in = graph_of({"x"}, {{"Shape", {"x"}, {"s"}}, {"Reshape", {"x", "s"}, {"y"}}}, {"y"});
  Graph out = graph_of({"x", "s_folded"}, {{"Reshape", {"x", "s_folded"}, {"y"}}}, {"y"});
  const Lineage lineage = lineage_of(in, out, {.steps = {FoldStep{{"s"}}}, .notes = {}});
  ASSERT_THAT(lineage.changed, SizeIs(1));
  EXPECT_THAT(made_by(in, lineage.changed[0].before), ElementsAre("s"));
  EXPECT_THAT(lineage.changed[0].after, IsEmpty());
  EXPECT_THAT(lineage.changed[0].claims, IsEmpty());
}

TEST(Lineage, WithoutStepsNodesAreFoundByWhatTheyMake) {
  const Graph in =
      graph_of({"x"}, {{"Sin", {"x"}, {"a"}}, {"Relu", {"a"}, {"b"}}, {"Exp", {"b"}, {"y"}}}, {"y"});
  const Graph out =
      graph_of({"x"}, {{"Sin", {"x"}, {"a"}}, {"Max", {"a"}, {"b"}}, {"Exp", {"b"}, {"y"}}}, {"y"});
  const Lineage lineage = lineage_of(in, out, {.steps = {}, .pairing = Pairing{}, .notes = {}});
  EXPECT_THAT(lineage.kept, SizeIs(2));
  ASSERT_THAT(lineage.changed, SizeIs(1));
  EXPECT_THAT(made_by(in, lineage.changed[0].before), ElementsAre("b"));
  EXPECT_THAT(made_by(out, lineage.changed[0].after), ElementsAre("b"));
}

TEST(Lineage, NotesThatOnlyFoldBelongToNoReplacement) {
  const Claim claim = claim_of({"y"}, {"x"}, {{"Sin", {"x"}, {"one"}}}, {"one"});
  const Note folds{"simplify", "constants computed in advance"}, told{"collapse", "nodes are one", "y"};
  const Note whole{"measured", "the whole model", "", 2};
  const auto notes = notes_of_claims({.steps = {claim, FoldStep{}}, .notes = {folds, told, whole}});
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_EQ(notes[0].what, "nodes are one");
  EXPECT_THAT(notes_of_claims({.steps = {claim, claim}, .notes = {folds, told, whole}}), IsEmpty());
}

}  // namespace
}  // namespace isomer
