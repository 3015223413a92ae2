#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::operators;
using testing::program;
using testing::taken;

std::string after(const std::string& text) {
  std::string why;
  const auto out = taken(kOrder, program(text), &why);
  return out ? operators(*out) : "nothing: " + why;
}

TEST(Order, APoolComesBeforeAnActivation) {
  EXPECT_EQ(after("agraph (float[b,8,16,16] x) => (float[b,8,8,8] y) {\n"
                  "e = Elu(x)\ny = MaxPool<kernel_shape=[2,2], strides=[2,2]>(e)\n}"),
            "MaxPool Elu");
  EXPECT_EQ(after("agraph (float[b,8,16,16] x) => (float[b,8,8,8] y) {\n"
                  "e = Sigmoid(x)\nr = Relu(e)\ny = MaxPool<kernel_shape=[3,3], strides=[2,2], "
                  "pads=[1,1,1,1]>(r)\n}"),
            "MaxPool Sigmoid Relu");
  EXPECT_EQ(
      after("agraph (float[b,8,16,16] x) => (float[b,8,1,1] y) {\nt = Tanh(x)\ny = GlobalMaxPool(t)\n}"),
      "GlobalMaxPool Tanh");
}

TEST(Order, AMaximumOfWhatFallsIsAMinimum) {
  EXPECT_EQ(
      after("agraph (float[b,64,128] x) => (float[b,128] y) {\n"
            "ax = Constant<value_ints=[1]>()\nn = Neg(x)\ne = Exp(n)\ny = ReduceMax<keepdims=0>(e, ax)\n}"),
      "Constant ReduceMin Neg Exp");
}

TEST(Order, AScalePerChannelIsTheSameInAllOfAWindow) {
  EXPECT_EQ(after("agraph (float[b,3,16,16] x) => (float[b,3,8,8] y) <float[3,1,1] w = {0.5, 1.0, 2.0}> {\n"
                  "m = Mul(x, w)\ny = MaxPool<kernel_shape=[2,2], strides=[2,2]>(m)\n}"),
            "MaxPool Mul");
  EXPECT_EQ(after("agraph (float[b,3,16,16] x) => (float[b,3,8,8] y) <float[3,1,1] w = {0.5, -1.0, 2.0}> {\n"
                  "m = Mul(x, w)\ny = MaxPool<kernel_shape=[2,2], strides=[2,2]>(m)\n}"),
            "nothing: ");
}

TEST(Order, ThePlaceOfTheLargestNeedsNoSoftmax) {
  EXPECT_EQ(after("agraph (float[b,21,8,8] x) => (int64[b,1,8,8] y) {\n"
                  "s = Softmax<axis=1>(x)\ny = ArgMax<axis=1>(s)\n}"),
            "ArgMax");
  EXPECT_EQ(
      after("agraph (float[b,21] x) => (int64[b,1] y) {\ns = Softmax<axis=0>(x)\ny = ArgMax<axis=1>(s)\n}"),
      "nothing: ");
}

TEST(Order, FunctionsAndViewsInAnyOrder) {
  EXPECT_EQ(after("agraph (float[b,64,8] x) => (float[b,8] y) <int64[1] ax = {2}> {\n"
                  "t = Tanh(x)\nv = Transpose<perm=[0,2,1]>(t)\ny = ReduceMax<keepdims=0>(v, ax)\n}"),
            "Transpose ReduceMax Tanh");
}

TEST(Order, AFactorsSignIsSeenWhereItIsMade) {
  EXPECT_EQ(
      after("agraph (float[b,80] x, float[b,1] z) => (float[b,1] y, int64[b,1] at) <int64[1] ax = {1}> {\n"
            "s = Sigmoid(x)\nu = Sigmoid(z)\np = Mul(s, u)\ny = ReduceMax(p, ax)\n"
            "at = ArgMax<axis=1>(p)\n}"),
      "Sigmoid ReduceMax Sigmoid Mul ArgMax");
  EXPECT_EQ(after("agraph (float[b,80] x, float[b,1] z) => (float[b,1] y) <int64[1] ax = {1}> {\n"
                  "s = Sigmoid(x)\np = Mul(s, z)\ny = ReduceMax(p, ax)\n}"),
            "nothing: ");
}

TEST(Order, AThresholdOfASigmoidIsOneOfItsArgument) {
  EXPECT_EQ(after("agraph (float[b,64] x) => (bool[b,64] y) <float h = {0.5}> {\ns = Sigmoid(x)\ny = "
                  "Greater(s, h)\n}"),
            "Greater");
  EXPECT_EQ(after("agraph (float[b,64] x) => (bool[b,64] y) <float h = {0.3}> {\ns = Sigmoid(x)\ny = "
                  "Greater(s, h)\n}"),
            "nothing: ");
}

TEST(Order, WhatCutsNothingOffIsLeftOut) {
  EXPECT_EQ(after("agraph (float[b,4,8,8] x, float[b,4,8,8] u) => (float[b,8,8,8] z) {\n"
                  "r = Relu(x)\ns = Relu(u)\nc = Concat<axis=1>(r, s)\ny = Relu(c)\nz = Neg(y)\n}"),
            "Relu Relu Concat Neg");
  EXPECT_EQ(after("agraph (float[b,64] x) => (float[b,64] z) <float l = {0.1}, float h = {1}> {\n"
                  "s = Sigmoid(x)\ny = Clip(s, l, h)\nz = Neg(y)\n}"),
            "nothing: ");
}

TEST(Order, WhatIsZeroIsNotAdded) {
  // The first step of a recurrence, whose state is zero, at any batch.
  const std::string state =
      "agraph (float[b,16] x, float[b,16] f) => (float[b,16] y) {\n"
      "s = Shape(x)\nz = ConstantOfShape(s)\n";
  EXPECT_EQ(after(state + "g = Sigmoid(f)\nm = Mul(g, z)\nt = Tanh(x)\ny = Add(m, t)\n}"), "Tanh");
  // What multiplies it may be infinite, which times zero is no number.
  EXPECT_EQ(after(state + "g = Relu(f)\nm = Mul(g, z)\nt = Tanh(x)\ny = Add(m, t)\n}"), "nothing: ");
}

}  // namespace
}  // namespace isomer
