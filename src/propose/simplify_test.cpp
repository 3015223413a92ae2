#include <gtest/gtest.h>

#include "propose/testing.h"

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
  for (const Proposal& p : propose_simplify(graph, *inference).list) out += p.what + "\n";
  return out;
}

TEST(Simplify, WhatChangesNothingGoes) {
  for (const char* body : {"t = Add(x, zeros)\ny = Relu(t)", "t = Sub(x, zero)\ny = Relu(t)",
                           "t = Mul(one, x)\ny = Relu(t)", "t = Div(x, one)\ny = Relu(t)"})
    EXPECT_NE(left_of(body).find("changes nothing"), std::string::npos) << body;
  for (const char* body :
       {"t = Sub(zero, x)\ny = Relu(t)", "t = Div(one, x)\ny = Relu(t)", "t = Mul(zeros, x)\ny = Relu(t)",
        "t = Add(x, almost)\ny = Relu(t)", "t = Add(x, one)\ny = Relu(t)",
        "t = Add(x, larger)\nu = Relu(t)\ny = ReduceMax<axes=[0], keepdims=0>(u)"})
    EXPECT_EQ(left_of(body).find("changes nothing"), std::string::npos) << body;
}

TEST(Simplify, CopiesOfWeightsAreNoOtherWeights) {
  const auto first = [](const std::string& op) {
    const Graph graph = testing::program("agraph (float[100,100] x) => (float[100,100] y) <" +
                                         testing::weight("w", "100,100", 10000, 1) + "> {\nt = " + op +
                                         "(w)\ny = Add(x, t)}");
    return propose_simplify(graph, *infer(graph)).list.at(0).what;
  };
  EXPECT_EQ(first("Identity"), "Identity producing t changes nothing");
  EXPECT_EQ(first("Neg"), "1 values are known before anything runs");
}

}  // namespace
}  // namespace isomer
