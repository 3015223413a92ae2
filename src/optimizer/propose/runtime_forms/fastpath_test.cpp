#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::integers;
using testing::operators;
using testing::program;
using testing::weight;

std::string faster(const std::string& text, std::string* why = nullptr) {
  const auto result = testing::taken(kFastpath, program(text), why);
  return result ? operators(*result) : "";
}

TEST(Fastpath, OneDimensionalConvolutionsAndWhatLiesBetweenAreLiftedTogether) {
  std::string why;
  EXPECT_EQ(faster("agraph (float[1,2,9] x) => (float[1,3,5] y) <" + weight("w", "3,2,3", 18, 1) + ", " +
                       weight("v", "3,3,3", 27, 2) + ", " + weight("b", "3", 3, 3) + ", " +
                       weight("s", "3,1", 3, 4) +
                       "> {\nc = Conv<pads=[1,1]>(x, w, b)\nm = Mul(c, s)\nr = Relu(m)\nd = Conv<pads=[1,1], "
                       "strides=[2]>(r, v)\ny = Tanh(d)}",
                   &why),
            "Unsqueeze Conv Mul Relu Conv Tanh Squeeze")
      << why;
}

TEST(Fastpath, ConvolutionsInThreeDimensionsAreOnesInTwo) {
  std::string why;
  EXPECT_EQ(faster("agraph (float[1,2,4,5,5] x) => (float[1,3,4,5,5] y) <" + weight("w", "3,2,3,1,1", 18, 1) +
                       "> {\nc = Conv<pads=[1,0,0,1,0,0]>(x, w)\ny = Relu(c)}",
                   &why),
            "Reshape Conv Relu Reshape")
      << why;
  EXPECT_EQ(
      faster("agraph (float[2,2,4,5,5] x) => (float[2,3,2,5,5] y) <" + weight("w", "3,2,3,3,3", 162, 1) +
                 "> {\ny = Conv<pads=[1,1,1,1,1,1], strides=[2,1,1]>(x, w)}",
             &why),
      "Transpose Pad Slice Slice Slice Concat Reshape Conv Reshape Transpose")
      << why;
}

TEST(Fastpath, ChannelsAreFilledUpThroughDepthwiseAndResidualNodes) {
  std::string why;
  const auto result = testing::taken(
      kFastpath,
      program(
          "agraph (float[1,16,4,4] x) => (float[1,16,4,4] y) <" + weight("a", "6,16,1,1", 96, 1) + ", " +
          weight("d", "6,1,3,3", 54, 2) + ", " + weight("e", "6", 6, 3) + ", " +
          weight("b", "16,6,1,1", 96, 4) +
          "> {\np = Conv(x, a)\nr = Sigmoid(p)\nq = Conv<pads=[1,1,1,1], group=6>(r, d, e)\nm = Mul(q, r)\n"
          "y = Conv(m, b)}"),
      &why);
  ASSERT_TRUE(result.has_value()) << why;
  EXPECT_EQ(operators(*result), "Conv Sigmoid Conv Mul Conv");
  const auto inference = infer(*result);
  ASSERT_TRUE(inference.ok());
  for (const NodeId id : result->order())
    if (result->node(id).op == "Sigmoid") {
      const Dims& shape = *inference->of({id, 0}).shape;
      EXPECT_EQ(shape[1].value(), 16);
    }
}

// A runtime whose layout takes every convolution of this graph as it is.
Machine content_with(const Graph& graph, const Inference& inference) {
  Machine out;
  for (const NodeId id : graph.order())
    if (graph.node(id).op == "Conv") out.blocked[convolution_kind(graph, inference, id)] = true;
  return out;
}

TEST(Fastpath, WhatTheRuntimeBlocksAnywayIsLeftAlone) {
  const Graph padded =
      program("agraph (float[1,16,4,4] x) => (float[1,16,4,4] y) <" + weight("a", "6,16,1,1", 96, 1) + ", " +
              weight("b", "16,6,1,1", 96, 4) + "> {\np = Conv(x, a)\ny = Conv(p, b)}");
  const Graph grouped = program("agraph (float[1,32,3,3] x) => (float[1,16,3,3] y) <" +
                                weight("w", "16,8,1,1", 128, 1) + "> {\ny = Conv<group=4>(x, w)}");
  for (const Graph& graph : {padded, grouped}) {
    const auto inference = infer(graph);
    ASSERT_TRUE(inference.ok());
    const Machine content = content_with(graph, *inference);
    EXPECT_EQ(kFastpath(graph, *inference).list.size(), 1u);
    EXPECT_EQ(kFastpath(graph, *inference, {.machine = &content}).list.size(), 0u);
  }
}

TEST(Fastpath, GroupsAreMergedToABlock) {
  const auto result =
      testing::taken(kFastpath, program("agraph (float[1,32,3,3] x) => (float[1,16,3,3] y) <" +
                                        weight("w", "16,8,1,1", 128, 1) + "> {\ny = Conv<group=4>(x, w)}"));
  ASSERT_TRUE(result.has_value());
  const Node& conv = result->node(result->outputs()[0].node);
  EXPECT_EQ(*conv.attributes.find_as<std::int64_t>("group"), 2);
}

TEST(Fastpath, LinearLayersBetweenTranspositionsAreConvolutions) {
  std::string why;
  EXPECT_EQ(faster("agraph (float[1,3,3,4] x) => (float[1,4,3,3] y) <" + weight("w", "4,8", 32, 1) + ", " +
                       weight("b", "8", 8, 2) + ", " + weight("v", "8,4", 32, 3) +
                       "> {\nm = MatMul(x, w)\na = Add(m, b)\nr = Erf(a)\nn = MatMul(r, v)\ny = "
                       "Transpose<perm=[0,3,1,2]>(n)}",
                   &why),
            "Transpose Conv Add Erf Conv")
      << why;
}

TEST(Fastpath, SoftmaxAlongAnotherAxisInParts) {
  EXPECT_EQ(faster("agraph (float[2,3,4] x) => (float[2,3,4] y) {\ny = Softmax<axis=1>(x)}"),
            "ReduceMax Sub Exp ReduceSum Div");
  EXPECT_EQ(faster("agraph (float[2,3,4,5] x) => (float[2,4,3,5] y) {\nt = Transpose<perm=[0,2,1,3]>(x)\n"
                   "y = Softmax<axis=1>(t)}"),
            "ReduceMax Sub Exp ReduceSum Div Transpose");
  EXPECT_EQ(faster("agraph (float[2,3,4] x) => (float[2,3,4] y) {\ny = Softmax<axis=2>(x)}"), "");
}

TEST(Fastpath, SlopesBelowZeroAreADepthwiseConvolution) {
  std::string why;
  EXPECT_EQ(faster("agraph (float[1,3,4,4] x) => (float[1,3,4,4] y) <" + weight("s", "3,1,1", 3, 1) +
                       "> {\ny = PRelu(x, s)}",
                   &why),
            "Neg Relu Conv Relu Add")
      << why;
}

TEST(Fastpath, LargeWindowsFromSmallerOnes) {
  std::string why;
  EXPECT_EQ(faster("agraph (float[1,2,9,9] x) => (float[1,2,9,9] a, float[1,2,9,9] b) {\na = "
                   "MaxPool<kernel_shape=[3,3], pads=[1,1,1,1]>(x)\nb = MaxPool<kernel_shape=[7,7], "
                   "pads=[3,3,3,3]>(x)}",
                   &why),
            "MaxPool MaxPool")
      << why;
}

TEST(Fastpath, MatricesAreNoBatches) {
  EXPECT_EQ(faster("agraph (float[5,1,4] x) => (float[5,1,3] y) <" + weight("w", "1,4,3", 12, 1) +
                   "> {\ny = MatMul(x, w)}"),
            "MatMul");
}

TEST(Fastpath, AResidualBeforeANormalizationIsASum) {
  std::string why;
  const std::string weights = weight("s", "8", 8, 1) + ", " + weight("c", "8", 8, 2);
  EXPECT_EQ(faster("agraph (float[1,4,8] x, float[1,4,8] z) => (float[1,4,8] r, float[1,4,8] y) <" + weights +
                       "> {\nr = Add(x, z)\ny = LayerNormalization(r, s, c)}",
                   &why),
            "Sum LayerNormalization")
      << why;
  // Spelled out, for any length.
  EXPECT_EQ(faster("agraph (float[N,4,8] x, float[N,4,8] z) => (float[N,4,8] y) <" + weights +
                       ", float e = {1e-5}, int64[1] last = {-1}> {\nr = Add(x, z)\nm = ReduceMean(r, "
                       "last)\nd = Sub(r, m)\np = "
                       "Mul(d, d)\nv = ReduceMean(p, last)\nw = Add(v, e)\nq = Sqrt(w)\nn = Div(d, q)\nt = "
                       "Mul(n, s)\ny = Add(t, c)}",
                   &why),
            "Sum ReduceMean Sub Mul ReduceMean Add Sqrt Div Mul Add")
      << why;
  // With a shift that is stored in bytes.
  EXPECT_EQ(
      faster("agraph (float[1,4,8] x, float[1,4,8] z) => (float[1,4,8] r, float[1,4,8] y) <" +
                 weight("s", "8", 8, 1) + ", int8[8] q = {1, -2, 3, 4, -5, 6, 7, 8}, float k = {0.5}> {\n" +
                 "c = DequantizeLinear(q, k)\nr = Add(x, z)\ny = LayerNormalization(r, s, c)}",
             &why),
      "DequantizeLinear Sum LayerNormalization")
      << why;
  // Not where it goes back to bytes first: that sum is done in integers.
  EXPECT_EQ(faster("agraph (float[1,4,8] x, float[1,4,8] z) => (float[1,4,8] y) <" + weights +
                   ", float k = {0.5}, uint8 o = {128}> {\nr = Add(x, z)\nq = QuantizeLinear(r, k, o)\n"
                   "d = DequantizeLinear(q, k, o)\ny = LayerNormalization(d, s, c)}"),
            "");
  // Not where nothing is normalized, and not of a mask.
  EXPECT_EQ(
      faster("agraph (float[1,4,8] x, float[1,4,8] z) => (float[1,4,8] y) {\nr = Add(x, z)\ny = Relu(r)}"),
      "");
  EXPECT_EQ(
      faster("agraph (float[1,4,8] x, float[1,1,8] z) => (float[1,4,8] y) {\nr = Add(x, z)\ny = Softmax(r)}"),
      "");
}

}  // namespace
}  // namespace isomer
