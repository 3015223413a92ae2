#include "propose/testing.h"

namespace isomer {
namespace {

using testing::program;
using testing::weight;

std::optional<Graph> collapsed(const Graph& graph, std::string* why = nullptr) {
  return testing::taken(propose_collapse, graph, why);
}

TEST(Collapse, ThreeBranchesAreOneConvolution) {
  const Graph graph =
      program("agraph (float[N,4,9,9] x) => (float[N,4,9,9] y) <" + weight("w", "4,4,3,3", 144, 1) + ", " +
              weight("v", "4,4,1,1", 16, 2) + "> {\n" +
              "a = Conv<pads=[1,1,1,1]>(x, w)\nb = Conv(x, v)\nc = Add(a, b)\nd = Add(c, x)\ny = Relu(d)}");
  const auto result = collapsed(graph);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->operator_count(), 2u);
}

TEST(Collapse, SlicesThenConvolutionAreOneStridedConvolution) {
  const std::string ints =
      "int64[1] zero = {0}, int64[1] one = {1}, int64[1] end = {100}, int64[1] two = {2}, int64[1] ax = {2}";
  const Graph graph = program(
      "agraph (float[1,2,12] x) => (float[1,3,6] y) <" + weight("w", "3,4,3", 36, 3) + ", " + ints + "> {\n" +
      "a = Slice(x, zero, end, ax, two)\nb = Slice(x, one, end, ax, two)\nc = Concat<axis=1>(a, b)\n"
      "y = Conv<pads=[1,1]>(c, w)}");
  const auto result = collapsed(graph);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->operator_count(), 1u);
}

TEST(Collapse, PaddedConvolutionsInARowDifferAtTheBorder) {
  const Graph graph = program("agraph (float[1,3,12] x) => (float[1,3,12] y) <" +
                              weight("w", "8,3,3", 72, 1) + ", " + weight("v", "3,8,3", 72, 2) + "> {\n" +
                              "a = Conv<pads=[1,1]>(x, w)\ny = Conv<pads=[1,1]>(a, v)}");
  std::string why;
  EXPECT_FALSE(collapsed(graph, &why).has_value());
  EXPECT_NE(why, "");
}

TEST(Collapse, LeavesLowRankPairsAlone) {
  const Graph graph = program("agraph (float[64,32] x) => (float[64,32] y) <" + weight("u", "32,2", 64, 1) +
                              ", " + weight("v", "2,32", 64, 2) + "> {\nt = MatMul(x, u)\ny = MatMul(t, v)}");
  EXPECT_FALSE(collapsed(graph).has_value());
}

}  // namespace
}  // namespace isomer
