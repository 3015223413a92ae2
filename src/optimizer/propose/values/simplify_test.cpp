#include <gtest/gtest.h>

#include <algorithm>

#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

std::string left_of(const std::string& body) {
  const Graph graph = testing::program(
      "agraph (float[2,3] x) => (float[2,3] y) <float zero = "
      "{0.0}, float one = "
      "{1.0}, float[2,3] zeros = {0,0,0,0,0,0}, float[4,2,3] larger = "
      "{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, "
      "float[2,3] almost = {0,0,0,0,0,1}> {\n" +
      body + "}");
  const auto inference = infer(graph);
  std::string out;
  for (const Proposal& p : kSimplify(graph, *inference).list) out += p.what + "\n";
  return out;
}

TEST(Simplify, WhatChangesNothingGoes) {
  for (const char* body : {"t = Add(x, zeros)\ny = Relu(t)", "t = Sub(x, zero)\ny = Relu(t)",
                           "t = Mul(one, x)\ny = Relu(t)", "t = Div(x, one)\ny = Relu(t)"})
    EXPECT_NE(left_of(body).find("changes nothing"), std::string::npos) << body;
  for (const char* body :
       {"t = Sub(zero, x)\ny = Relu(t)", "t = Div(one, x)\ny = Relu(t)", "t = Mul(zeros, x)\ny = Relu(t)",
        "t = Add(x, almost)\ny = Relu(t)", "t = Add(x, one)\ny = Relu(t)",
        "t = Add(x, larger)\nu = Relu(t)\na = Constant<value_ints = [0]>()\ny = ReduceMax<keepdims=0>(u, a)"})
    EXPECT_EQ(left_of(body).find("changes nothing"), std::string::npos) << body;
}

TEST(Simplify, AReshapeToTheSizesThatAreThereGoes) {
  std::string why;
  const auto result = testing::taken(
      kSimplify,
      testing::program(
          "agraph (float[N,3] x) => (float[N,3] y) {\ns = Shape(x)\nfirst = Constant<value_ints = [0]>()\n"
          "n = Gather(s, first)\nthree = Constant<value_ints = [3]>()\nt = Concat<axis = 0>(n, three)\n"
          "r = Reshape(x, t)\ny = Relu(r)}"),
      &why);
  ASSERT_TRUE(result) << why;
  EXPECT_EQ(testing::operators(*result).find("Reshape"), std::string::npos);
}

TEST(Simplify, CopiesOfWeightsAreNoOtherWeights) {
  const auto first = [](const std::string& op) {
    const Graph graph = testing::program("agraph (float[100,100] x) => (float[100,100] y) <" +
                                         testing::weight("w", "100,100", 10000, 1) + "> {\nt = " + op +
                                         "(w)\ny = Add(x, t)}");
    return kSimplify(graph, *infer(graph)).list.at(0).what;
  };
  EXPECT_EQ(first("Identity"), "Identity producing t changes nothing");
  EXPECT_EQ(first("Neg"), "1 values are known before anything runs");
}

std::vector<std::string> folds_of(const std::string& inputs, const std::string& constants,
                                  const std::string& body) {
  const Graph graph = testing::program("agraph (" + inputs + ") => (y) <" + constants + "> {\n" + body + "}");
  std::vector<std::string> out;
  for (const Proposal& p : kSimplify(graph, *infer(graph)).list)
    out.insert(out.end(), p.folds.begin(), p.folds.end());
  return out;
}

TEST(Simplify, DequantizedWeightsStayAsSmallAsTheyAre) {
  // With few elements, which inference follows, and with many.
  for (const int n : {8, 64}) {
    std::string numbers;
    for (int i = 0; i < n * n; ++i) numbers += (i ? "," : "") + std::to_string(i % 200 - 100);
    const std::string size = std::to_string(n);
    const std::string constants =
        "int8[" + size + "," + size + "] q = {" + numbers +
        "}, float s = {0.5}, int8 z = {3}, float[1] two = {2.0}, int64[2] turned = {" + size + "," + size +
        "}";
    const std::string in = "float[3," + size + "] x";
    const std::string w = "w = DequantizeLinear(q, s, z)\n";
    EXPECT_TRUE(folds_of(in, constants, w + "y = MatMul(x, w)").empty());
    EXPECT_TRUE(
        folds_of(in, constants, w + "t = Transpose(w)\nr = Reshape(t, turned)\ny = MatMul(x, r)").empty());
    EXPECT_TRUE(folds_of(in, constants, w + "t = Mul(w, two)\ny = MatMul(x, t)").empty());
    // What is done to the integers, and to sizes, is folded.
    EXPECT_EQ(folds_of(in, constants, "t = Transpose(q)\nw = DequantizeLinear(t, s, z)\ny = MatMul(x, w)"),
              std::vector<std::string>{"t"});
    EXPECT_EQ(folds_of(in, constants, w + "h = Shape(w)\nr = Reshape(w, h)\ny = MatMul(x, r)"),
              std::vector<std::string>{"h"});
    EXPECT_EQ(folds_of(in, "float[" + size + "," + size + "] q = {" + numbers + "}",
                       "w = Neg(q)\ny = MatMul(x, w)"),
              std::vector<std::string>{"w"});
  }
}

TEST(Simplify, FoldsNothingThatHangsOnDigitsOfOneRuntime) {
  std::string numbers;
  for (int i = 0; i < 2000; ++i) numbers += (i ? "," : "") + std::to_string(i % 40 + 1) + ".0";
  const std::string constants = "float[2000] c = {" + numbers + "}, float[1] two = {2.0}";
  const std::string steps = "p = Log(c)\nq = Log(two)\nr = Div(p, q)\nf = Floor(r)\ny = Add(x, f)";
  const auto folds = folds_of("float[2000] x", constants, steps);
  EXPECT_EQ(std::ranges::count(folds, "f"), 0);
  EXPECT_EQ(folds_of("float[2000] x", constants, "r = Div(c, two)\nf = Floor(r)\ny = Add(x, f)"),
            std::vector<std::string>{"f"});
}

}  // namespace
}  // namespace isomer
