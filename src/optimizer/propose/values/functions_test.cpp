#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::operators;
using testing::program;
using testing::taken;

std::string found(const std::string& constants, const std::string& body, std::size_t number = 0) {
  std::string why;
  const auto out =
      taken(kFunctions,
            program("agraph (float[b,8,64] x) => (float[b,8,64] y) <" + constants + "> {\n" + body + "\n}"),
            &why, true, number);
  return out ? operators(*out) : "nothing: " + why;
}

TEST(Functions, MaximaAndMinimaWithNumbersAreOneClip) {
  EXPECT_EQ(found("float l = {-1.5}, float h = {6}", "a = Min(x, h)\ny = Max(l, a)"), "Clip");
  EXPECT_EQ(found("float h = {6}", "a = Relu(x)\ny = Min(a, h)"), "Clip");
  // Of -0 it makes another zero.
  EXPECT_EQ(found("float z = {0}", "y = Max(x, z)"), "nothing: ");
  EXPECT_EQ(found("float z = {0}, float o = {1}", "a = Max(x, z)\ny = Min(a, o)"), "Max Clip");
  EXPECT_EQ(found("float z = {0}", "y = Relu(x)"), "nothing: ");
  EXPECT_EQ(found("float[8,1] z = {0, 1, 2, 3, 4, 5, 6, 7}", "a = Relu(x)\ny = Max(a, z)"), "nothing: ");
}

TEST(Functions, ALineBetweenZeroAndOneIsAHardSigmoid) {
  const std::string numbers = "float a = {0.2}, float b = {0.5}, float o = {1}, float z = {0}";
  const std::string line = "m = Mul(x, a)\ns = Add(m, b)\nk = Min(s, o)\n";
  EXPECT_EQ(found(numbers, line + "y = Max(k, z)"), "HardSigmoid");
  EXPECT_EQ(found(numbers, line + "h = Max(k, z)\ny = Mul(h, x)"), "HardSigmoid Mul");
}

TEST(Functions, WhatLosesDigitsIsMeant) {
  const std::string numbers = "float k = {100000000}, float h = {6}";
  EXPECT_EQ(found(numbers, "a = Add(x, k)\ns = Sub(a, k)\nr = Relu(s)\ny = Min(r, h)"), "Add Sub Clip");
  EXPECT_EQ(found(numbers, "a = Add(x, k)\ny = Sub(a, k)"), "nothing: ");
}

TEST(Functions, BentLinesAreLeakyRelus) {
  EXPECT_EQ(found("float a = {0.25}", "s = Mul(x, a)\ny = Max(s, x)"), "LeakyRelu");
  EXPECT_EQ(found("float a = {0.25}", "n = Neg(x)\nr = Relu(n)\ns = Mul(r, a)\np = Relu(x)\ny = Sub(p, s)"),
            "LeakyRelu");
}

TEST(Functions, QuotientsHaveNames) {
  // A Sqrt of -0 is -0.
  EXPECT_EQ(found("float h = {0.5}", "y = Pow(x, h)"), "nothing: ");
  EXPECT_EQ(found("float o = {1}", "a = Abs(x)\ns = Add(o, a)\ny = Div(x, s)"), "Softsign");
  EXPECT_EQ(found("float o = {1}, float z = {0}",
                  "c = Min(x, z)\ne = Exp(c)\nm = Sub(e, o)\nr = Relu(x)\ny = Add(r, m)"),
            "Elu");
}

TEST(Functions, TwoOutputsOfANodeAreTwoValues) {
  EXPECT_EQ(found("int64[2] p = {32, 32}",
                  "a, b = Split<axis=2>(x, p)\nc = Add(a, b)\nd = Relu(c)\ny = Concat<axis=2>(d, d)"),
            "nothing: ");
}

TEST(Functions, AGeluIsWrittenAsTheEngineKnowsIt) {
  EXPECT_EQ(found("float a = {0.044715}, float c = {0.7978846}, float o = {1}, float h = {0.5}",
                  "q = Mul(x, x)\nr = Mul(x, q)\ns = Mul(a, r)\nt = Add(x, s)\nu = Mul(c, t)\nv = Tanh(u)\n"
                  "w = Add(o, v)\nk = Mul(h, w)\ny = Mul(x, k)"),
            "Pow Mul Add Mul Tanh Mul Add Mul");
  EXPECT_EQ(found("float c = {0.70710677}, float o = {1}, float h = {0.5}",
                  "s = Mul(x, c)\ne = Erf(s)\nk = Mul(h, e)\nw = Add(h, k)\ny = Mul(x, w)"),
            "Mul Erf Add Mul Mul");
}

std::string normalized(const std::string& body) {
  std::string why;
  const auto out = taken(
      kFunctions,
      program("agraph (float[b,4,5,3] x) => (float[b,4,5,3] y) <float[3] g = {1.5, 2, 0.5}, float[1,1,1,3] "
              "s = {0.25, 1, -1}, float e = {0.001}, int64[2] a = {1, 2}> {\n" +
              body + "\n}"),
      &why, true);
  return out ? operators(*out) : "nothing: " + why;
}

TEST(Functions, ANormalizationIsTheEnginesInAnyLayout) {
  EXPECT_EQ(
      normalized("m = ReduceMean(x, a)\nd = Sub(x, m)\nq = Mul(d, d)\nv = ReduceMean(q, a)\n"
                 "w = Add(v, e)\nr = Sqrt(w)\nn = Div(d, r)\nu = Mul(g, n)\nk = Add(u, s)\ny = Relu(k)"),
      "Transpose InstanceNormalization Transpose Relu");
  // As TensorFlow's batch_normalization writes it, with the mean of the squares.
  EXPECT_EQ(normalized("m = ReduceMean(x, a)\nq = Mul(x, x)\nz = ReduceMean(q, a)\nf = Mul(m, m)\n"
                       "v = Sub(z, f)\nw = Add(v, e)\nr = Sqrt(w)\ni = Reciprocal(r)\nh = Mul(i, g)\n"
                       "o = Mul(x, h)\np = Mul(m, h)\nt = Sub(s, p)\ny = Add(o, t)"),
            "Transpose InstanceNormalization Transpose");
  EXPECT_EQ(normalized("m = ReduceMean(x, a)\nd = Sub(x, m)\nq = Abs(d)\nv = ReduceMean(q, a)\n"
                       "w = Add(v, e)\nr = Sqrt(w)\ny = Div(d, r)"),
            "nothing: ");
}

TEST(Functions, ExponentialsByTheirSumAreASoftmax) {
  EXPECT_EQ(found("int64[1] a = {2}", "e = Exp(x)\ns = ReduceSum(e, a)\ny = Div(e, s)"), "Softmax");
  const std::string less = "m = ReduceMax(x, a)\nd = Sub(x, m)\ne = Exp(d)\ns = ReduceSum(e, a)\n";
  EXPECT_EQ(found("int64[1] a = {-1}", less + "y = Div(e, s)"), "Softmax");
  EXPECT_EQ(found("int64[1] a = {2}", less + "l = Log(s)\ny = Sub(d, l)"), "LogSoftmax");
  // Along another axis the engine's own is slower than its parts.
  EXPECT_EQ(found("int64[1] a = {1}", less + "y = Div(e, s)"), "nothing: ");
}

TEST(Functions, ALayerThatTheEngineDoesNotSee) {
  const std::string numbers = testing::weight("g", "64", 64, 1) + ", " + testing::weight("h", "64", 64, 2) +
                              ", float e = {0.001}, int64[1] a = {2}, float half = {-0.5}";
  const std::string moments =
      "m = ReduceMean(x, a)\nd = Sub(x, m)\nq = Mul(d, d)\nv = ReduceMean(q, a)\nw = Add(v, e)\n";
  EXPECT_EQ(found(numbers, moments + "r = Pow(w, half)\nk = Mul(r, g)\no = Mul(x, k)\np = Mul(m, k)\n"
                                     "t = Sub(h, p)\ny = Add(o, t)"),
            "LayerNormalization");
  EXPECT_EQ(found(numbers, moments + "r = Sqrt(w)\nn = Div(d, r)\nu = Mul(n, g)\ny = Add(u, h)"),
            "nothing: ");
}

}  // namespace
}  // namespace isomer
