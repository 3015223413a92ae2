#include "optimizer/propose/change.h"

#include <gtest/gtest.h>

#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using Counts = std::vector<CountedOperator>;

TEST(Change, SaysWhatBecameWhat) {
  EXPECT_EQ(describe({"collapse", {{"Conv", 3}, {"Add", 1}}, {{"Conv", 1, "3×3"}}}),
            "3 convolutions and an addition → one 3×3 convolution");
  EXPECT_EQ(describe({"collapse", {{"Conv", 1, "3×3"}, {"BatchNormalization", 1}}, {{"Conv", 1}}}),
            "a convolution and a batch normalization → one convolution");
  EXPECT_EQ(describe({"reassociate", {{"MatMul", 3}}, {{"MatMul", 1}, {"Split", 1}}}),
            "3 matrix products → a matrix product and a split");
}

TEST(Change, CallsMatMulAndGemmByOneName) {
  EXPECT_EQ(describe({"collapse", {{"MatMul", 1}, {"Add", 2}, {"Gemm", 1}}, {{"Gemm", 1}}}),
            "2 matrix products and 2 additions → one matrix product");
}

TEST(Change, GivesOtherOperatorsTheNameOfOnnx) {
  EXPECT_EQ(describe({"functions", {{"Erf", 1}, {"Mul", 2}, {"Tanh", 3}}, {{"Gelu", 1}}}),
            "Erf, 2 multiplications and 3 Tanh → one Gelu");
}

TEST(Change, OfManyOperatorsLeavesOutWhatIsOnBothSides) {
  const Counts norm{{"ReduceMean", 2}, {"Sub", 1}, {"Pow", 1}, {"Sqrt", 1}, {"Div", 1}};
  Counts before = norm, after = norm;
  before.push_back({"Add", 2});
  after.push_back({"Sum", 1});
  after.push_back({"Add", 1});
  EXPECT_EQ(describe({"fastpath", before, after}),
            "2 additions → Sum and an addition (a faster kernel of the runtime)");
  // Nothing else was there: all of it is said.
  before.pop_back();
  before.push_back({"Relu", 1});
  EXPECT_EQ(
      describe({"novel", before, norm}),
      "2 means, a subtraction, Pow, Sqrt, a division and Relu → 2 means, a subtraction, Pow, Sqrt and a "
      "division");
}

TEST(Change, OfFewOperatorsSaysThemAll) {
  EXPECT_EQ(describe({"commute", {{"Conv", 1}, {"AveragePool", 1}}, {{"AveragePool", 1}, {"Conv", 1}}}),
            "a convolution and an average pooling → an average pooling and a convolution (in an order that "
            "computes less)");
  EXPECT_EQ(describe({"reassociate", {{"Concat", 1}, {"Conv", 1}}, {{"Conv", 2, "1×1"}, {"Add", 1}}}),
            "a concatenation and a convolution → 2 convolutions of 1×1 and an addition");
}

TEST(Change, CountsWhatALongListLeavesOut) {
  const Counts six{{"A", 1}, {"B", 1}, {"C", 1}, {"D", 1}, {"E", 1}, {"F", 1}};
  EXPECT_EQ(describe({"collapse", six, {{"Conv", 1}}}), "A, B, C, D, E and F → one convolution");
  Counts seven = six;
  seven.push_back({"G", 4});
  EXPECT_EQ(describe({"collapse", seven, {{"Conv", 1}}}),
            "A, B, C, D, E and 5 other nodes → one convolution");
}

TEST(Change, OfAProposerWithASummaryIsThat) {
  EXPECT_EQ(describe({"simplify", {{"Cast", 1}}, {}}), kSimplify.summary);
  EXPECT_EQ(describe({"widen"}), kWiden.summary);
}

TEST(Change, OfAnUnknownKindIsSaidAllTheSame) {
  EXPECT_EQ(describe({"novel", {{"Conv", 1}}, {{"Gemm", 1}, {"Add", 1}}}),
            "a convolution → a matrix product and an addition");
  EXPECT_EQ(describe({"novel", {{"Relu", 2}}, {}}), "2 Relu → nothing");
}

TEST(Change, NamesItsPlaceWithoutWhatExportersAdd) {
  EXPECT_EQ(describe_at("Relu → nothing", "/stages/stages.0/Relu_output_0"),
            "Relu → nothing, at stages/stages.0/Relu");
  EXPECT_EQ(describe_at("constants", ""), "constants");
  EXPECT_EQ(short_name("Relu_output_of_x"), "Relu_output_of_x");
  EXPECT_EQ(short_name("/encoder/layer.11/attention/output/LayerNorm/ReduceMean_1_output_0"),
            "…/attention/output/LayerNorm/ReduceMean_1");
}

TEST(Change, HasALabelThatStepsOfOneKindShare) {
  const Change one{"collapse", {{"Conv", 3}, {"Add", 1}}, {{"Conv", 1}}},
      other{"collapse", {{"Conv", 2}, {"Add", 1}}, {{"Conv", 1}}};
  EXPECT_EQ(label_of(one), "collapse: Conv+Add -> Conv");
  EXPECT_EQ(label_of(one), label_of(other));
  EXPECT_EQ(label_of({"widen"}), "widen");
}

TEST(Change, CountsOperatorsAndTheirKernels) {
  const Graph graph = testing::program(
      "agraph (float[1,2,5,5] x) => (float[1,2,5,5] y) <" + testing::weight("a", "2,2,1,1", 4, 1) +
      "> { p = Conv<kernel_shape = [1,1]>(x, a) q = Relu(p) y = Conv<kernel_shape = [1,1]>(q, a)}");
  std::vector<NodeId> nodes;
  for (const NodeId id : graph.order())
    if (graph.node(id).kind == NodeKind::Operator) nodes.push_back(id);
  const Counts counts = count_operators(graph, nodes);
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts[0].op + counts[0].size, "Conv1×1");
  EXPECT_EQ(counts[0].count, 2);
  EXPECT_EQ(counts[1].op + counts[1].size, "Relu");
}

}  // namespace
}  // namespace isomer
