#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::integers;
using testing::operators;
using testing::program;
using testing::weight;

std::string best(const std::string& text) { return testing::best_operators(kLinear, text); }

TEST(Linear, LinearAttentionMultipliesTheSmallOnesFirst) {
  const Graph graph = program(
      "agraph (float[1,2,64,4] q, float[1,2,4,64] k, float[1,2,64,4] v) => (float[1,2,64,4] y) {\n"
      "a = MatMul(q, k)\ny = MatMul(a, v)}");
  const auto result = testing::taken(kLinear, graph);
  ASSERT_TRUE(result.has_value());
  const Node& last = result->node(result->outputs()[0].node);
  EXPECT_EQ(result->name_of(last.inputs[0]), "q");
}

TEST(Linear, SumOfABroadcastProductIsAMatrixProduct) {
  EXPECT_EQ(best("agraph (float[1,80,1,40] q, float[1,1,90,40] k) => (float[1,80,90] y) <" +
                 integers("ax", {3}) + "> {\np = Mul(q, k)\ny = ReduceSum<keepdims=0>(p, ax)}"),
            "Transpose MatMul Reshape");
}

TEST(Linear, RepeatedKeysAreReadOnce) {
  EXPECT_EQ(best("agraph (float[1,60,3,40] q, float[1,20,50,40] k) => (float[1,60,3,50] y) <" +
                 integers("two", {2}) + ", " + integers("wide", {1, 20, 3, 50, 40}) + ", " +
                 integers("flat", {1, 60, 50, 40}) +
                 "> {\nu = Unsqueeze(k, two)\ne = Expand(u, wide)\nf = Reshape(e, flat)\n"
                 "t = Transpose<perm=[0,1,3,2]>(f)\ny = MatMul(q, t)}"),
            "Reshape Transpose MatMul Reshape");
}

// With two named lengths no extent follows from the others where there is nothing: both are read.
TEST(Linear, RepeatedKeysOfACacheOfAnyLengthAreReadOnce) {
  EXPECT_EQ(best("agraph (float[1,60,seq,40] q, float[1,20,past,40] p, float[1,20,seq,40] n) => "
                 "(float[1,60,seq,total] "
                 "y) <" +
                 integers("two", {2}) + ", " + integers("front", {1, 20, 3}) + ", " + integers("last", {40}) +
                 ", " + integers("flat", {1, 60, -1, 40}) +
                 "> {\nk = Concat<axis=2>(p, n)\nu = Unsqueeze(k, two)\nl = Shape<start=2, end=3>(k)\n"
                 "wide = Concat<axis=0>(front, l, last)\ne = Expand(u, wide)\nf = Reshape(e, flat)\n"
                 "t = Transpose<perm=[0,1,3,2]>(f)\ny = MatMul(q, t)}"),
            "Concat Unsqueeze Reshape Transpose MatMul Squeeze Reshape");
}

TEST(Linear, APartThatIsRepeatedIsMultipliedOnce) {
  // Attention of a decoder's state to all steps of an encoder, at any batch.
  EXPECT_EQ(best("agraph (float[b,1,40] h, float[b,30,20] e) => (float[b,30,50] y) <" +
                 weight("w", "60,50", 3000, 1) + ", " + weight("c", "50", 50, 2) + ", " +
                 integers("reps", {1, 30, 1}) +
                 "> {\nt = Tile(h, reps)\nx = Concat<axis=2>(t, e)\np = MatMul(x, w)\ny = Add(p, c)}"),
            "MatMul MatMul Reshape Add Reshape Add");
}

TEST(Linear, PairsOfObjectsAreSumsOfTwoProducts) {
  EXPECT_EQ(best("agraph (float[b,9,8] x) => (float[b,81,50] y) <" + weight("w", "16,50", 800, 1) + ", " +
                 integers("one", {1}) + ", " + integers("two", {2}) + ", " + integers("down", {1, 9, 1, 1}) +
                 ", " + integers("right", {1, 1, 9, 1}) + ", " + integers("flat", {-1, 81, 16}) +
                 "> {\nr = Unsqueeze(x, one)\ni = Tile(r, down)\nc = Unsqueeze(x, two)\nj = Tile(c, right)\n"
                 "p = Concat<axis=3>(i, j)\nf = Reshape(p, flat)\ny = MatMul(f, w)}"),
            "MatMul MatMul Reshape Reshape Add Reshape");
}

TEST(Linear, BroadcastingNeedsNoExpand) {
  EXPECT_EQ(best("agraph (float[b,30,20,20] x, float[b,30,1,1] s) => (float[b,30,20,20] y) {\n"
                 "n = Shape(x)\ne = Expand(s, n)\ny = Mul(x, e)}"),
            "Mul");
}

TEST(Linear, AProductOfAnEnlargedImageIsEnlarged) {
  EXPECT_EQ(best("agraph (float[1,16,8,8] t, float[1,16,16,16] x) => (float[1,4,16,16] y) <" +
                 weight("w", "4,16,1,1", 64, 1) + ", float[4] scales = {1, 1, 2, 2}, " +
                 weight("l", "16,16,1,1", 256, 2) +
                 "> {\nu = Resize<mode=\"nearest\", coordinate_transformation_mode=\"asymmetric\", "
                 "nearest_mode=\"floor\">(t, , scales)\nc = Conv(x, l)\ns = Add(c, u)\ny = Conv(s, w)}"),
            "Conv Conv Resize Add");
}

TEST(Linear, ProductsThatAreBestAlreadyStay) {
  const Graph graph = program("agraph (float[30,40] x) => (float[30,20] y) <" + weight("w", "40,20", 800, 1) +
                              "> {\ny = MatMul(x, w)}");
  const auto inference = infer(graph);
  ASSERT_TRUE(inference.ok());
  EXPECT_TRUE(kLinear(graph, *inference).list.empty());
}

TEST(Linear, AFactorOfRowsIsTakenOutOfSeveralProducts) {
  // A normalization before two projections: the factors of columns go into the weights.
  EXPECT_EQ(best("agraph (float[b,n,64] x, float[b,n,1] r) => (float[b,n,4] y, float[b,n,4] z) <" +
                 weight("g", "64", 64, 1) + ", " + weight("v", "64,4", 256, 2) + ", " +
                 weight("w", "64,4", 256, 3) +
                 "> {\np = Mul(x, r)\nq = Mul(g, p)\ny = MatMul(q, v)\nz = MatMul(q, w)}"),
            "MatMul Mul MatMul Mul");
}

TEST(Linear, OpenAxesThatAreCutIntoPartsAreSeenThrough) {
  // Frames of clips: the mean of eight, then the product.
  EXPECT_EQ(best("agraph (float[n,256] x) => (float[m,128] y) <" + weight("w", "256,128", 256 * 128, 1) +
                 ", int64[3] s = {-1, 8, 128}, int64[1] a = {1}> {\n"
                 "p = MatMul(x, w)\nr = Reshape(p, s)\ny = ReduceMean<keepdims=0>(r, a)\n}"),
            "Reshape ReduceSum MatMul");
}

}  // namespace
}  // namespace isomer
