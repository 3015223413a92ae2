#include "optimizer/facts/needed_positions.h"

#include <gtest/gtest.h>

#include "model/graph/testing.h"

namespace isomer {
namespace {

// What is needed of a value.
std::string needed(const std::string& name, const std::string& text, int opset = 18) {
  const Graph graph =
      testing::parsed("<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]>\n" + text);
  const auto inference = infer(graph);
  EXPECT_TRUE(inference.ok());
  const Site site(graph, *inference, unknown_machine());
  return isomer::text(NeededPositions(site).of(*site.find(name)));
}

TEST(Positions, ListsAreProgressionsWhereTheyGoInEqualSteps) {
  EXPECT_EQ(
      text({Positions::listed({7, 1, 4, 4}, 9), Positions::listed({0, 1, 5}, 9), Positions::listed({2}, 9)}),
      "[1:8:3, {0 1 5}, 2]");
  EXPECT_TRUE(Positions::listed({0, 1, 2}, 3).is_whole());
  EXPECT_EQ(text({Positions::listed({0, 2, 6}, 9).hull(9)}), "[0:7:2]");
}

TEST(Positions, ChoicesAreOneOnlyWithThemselves) {
  const auto a = Positions::chosen(0), b = Positions::chosen(1);
  EXPECT_EQ(a.united(a, 8), a);
  EXPECT_TRUE(a.united(b, 8).is_whole());
  EXPECT_TRUE(a.united(Positions::listed({1}, 8), 8).is_whole());
}

TEST(NeededPositions, AreThoseOfAllReaders) {
  const std::string text =
      "agraph (float[1,8] x) => (float[1,1] a, float[1,2] b) <int64[1] first = {0}, int64[2] others = {4, "
      "5}> {\n"
      "t = Tanh(x)\na = Gather<axis=1>(t, first)\nb = Gather<axis=1>(t, others)}";
  EXPECT_EQ(needed("t", text), "[*, {0 4 5}]");
  EXPECT_EQ(needed("x", text), "[*, {0 4 5}]");
}

TEST(NeededPositions, OfADilatedWindowHaveItsStep) {
  const std::string text =
      "agraph (float[1,2,32] x, float[2,2,3] w) => (float[1,2] y) <int64 last = {-1}> {\n"
      "a = Relu(x)\nc = Conv<dilations=[4], pads=[8,0]>(a, w)\ny = Gather<axis=2>(c, last)}";
  EXPECT_EQ(needed("c", text), "[*, *, 31]");
  EXPECT_EQ(needed("a", text), "[*, *, 23:32:4]");
}

TEST(NeededPositions, EndAtTheBorderOfWhatAWindowReads) {
  const std::string text =
      "agraph (float[N,2,9,9] x, float[4,2,3,3] w) => (float[N,4,2,2] y) <int64[2] from = {0, 4}, int64[2] "
      "to = "
      "{2, 6}, int64[2] ax = {2, 3}> {\na = Relu(x)\nc = Conv<pads=[1,1,1,1]>(a, w)\n"
      "y = Slice(c, from, to, ax)}";
  EXPECT_EQ(needed("a", text), "[*, *, 0:3, 3:7]");
}

TEST(NeededPositions, AreTheStridesOfAWindowOfOne) {
  const std::string text =
      "agraph (float[1,2,9] x, float[4,2,1] w) => (float[1,4,5] y) {\na = Relu(x)\ny = Conv<strides=[2]>(a, "
      "w)}";
  EXPECT_EQ(needed("a", text), "[*, *, 0:9:2]");
}

TEST(NeededPositions, OfASplitAreThePiecesThatAreRead) {
  const std::string text =
      "agraph (float[2,6] x) => (float[2,3] y) <int64[3] sizes = {1, 3, 2}> {\na = Relu(x)\n"
      "p, q, r = Split<axis=1>(a, sizes)\ny = Tanh(q)}";
  EXPECT_EQ(needed("a", text), "[*, 1:4]");
}

TEST(NeededPositions, AreAllWhereASumOrAFunctionRunsAlongTheAxis) {
  const std::string text =
      "agraph (float[4,8] x) => (float[4,1] y) <int64[1] first = {0}> {\na = Relu(x)\ns = Softmax(a)\n"
      "y = Gather<axis=1>(s, first)}";
  EXPECT_EQ(needed("s", text), "[*, *]");
  EXPECT_EQ(needed("a", text), "[*, *]");
}

TEST(NeededPositions, AreAllOfWhatIsAskedForItsShape) {
  const std::string text =
      "agraph (float[N,8] x) => (float[N,1] y, int64[2] s) <int64[1] first = {0}> {\na = Relu(x)\n"
      "s = Shape(a)\ny = Gather<axis=1>(a, first)}";
  EXPECT_EQ(needed("a", text), "[*, *]");
}

TEST(NeededPositions, OfKeysAreAllAndOfQueriesOneRow) {
  const std::string text =
      "agraph (float[b,n,8] x, float[8,8] wq, float[8,8] wk) => (float[b,1,n] y) <int64[1] at = {-1}> {\n"
      "q = MatMul(x, wq)\nk = MatMul(x, wk)\nt = Transpose<perm=[0,2,1]>(k)\nm = MatMul(q, t)\n"
      "s = Softmax(m)\ny = Gather<axis=1>(s, at)}";
  EXPECT_EQ(needed("q", text), "[*, choice 0.0, *]");
  EXPECT_EQ(needed("k", text), "[*, *, *]");
  EXPECT_EQ(needed("x", text), "[*, *, *]");
}

TEST(NeededPositions, OfPadsInOlderModels) {
  const std::string text =
      "agraph (float[1,2,8] x) => (float[1,2,3] y) {\na = Relu(x)\np = Pad<pads=[0,0,2,0,0,0]>(a)\n"
      "y = Slice<starts=[1], ends=[4], axes=[2]>(p)}";
  EXPECT_EQ(needed("a", text, 9), "[*, *, 0:2]");
}

}  // namespace
}  // namespace isomer
