// Monotone functions keep the order of numbers: what follows for maxima, positions and comparisons, and what
// does not.
#include <gtest/gtest.h>

#include "kernel/prove/prove.h"
#include "model/graph/text/text.h"

namespace isomer {
namespace {

Graph program(const std::string& body) {
  auto graph = parse_graph(
      "<ir_version: 8, opset_import: [\"\" : 18]> g (float[2,5] x, float[2,5] z, float[1,2,6] i) => "
      "(y) <float two = {2}, float less = {-1}, float half = {0.5}, int64[1] last = {1}> {" +
      body + "}");
  if (!graph.ok()) ADD_FAILURE() << graph.error().message << " in " << body;
  return *graph;
}

bool proves(const std::string& a, const std::string& b) {
  return std::holds_alternative<Proved>(prove_equal(program(a), program(b)));
}

// max f(x) against f(max x), and against f(min x).
struct Folded {
  bool by_maximum, by_minimum;
};
Folded folded(const std::string& f) {
  const auto of = [&](const char* from, const char* to) {
    std::string out = f;
    for (std::size_t at = 0; (at = out.find('$', at)) != std::string::npos;)
      out.replace(at, 2, out[at + 1] == '0' ? from : to);
    return out + " ";
  };
  const std::string first = of("x", "f") + "y = ReduceMax(f, last)";
  return {proves(first, "m = ReduceMax(x, last) " + of("m", "y")),
          proves(first, "m = ReduceMin(x, last) " + of("m", "y"))};
}

TEST(Order, MaximaOfWhatRises) {
  for (const char* f :
       {"$1 = Relu($0)", "$1 = Sigmoid($0)", "$1 = Floor($0)", "$1 = Clip($0, less, two)",
        "$1 = LeakyRelu<alpha=0.1>($0)", "e = Exp($0) $1 = Add(e, $0)", "$1 = Add($0, two)"}) {
    EXPECT_TRUE(folded(f).by_maximum) << f;
    EXPECT_FALSE(folded(f).by_minimum) << f;
  }
}

TEST(Order, MaximaOfWhatFalls) {
  for (const char* f : {"$1 = Neg($0)", "$1 = Sub(two, $0)", "e = Exp($0) $1 = Div(two, e)"}) {
    EXPECT_FALSE(folded(f).by_maximum) << f;
    EXPECT_TRUE(folded(f).by_minimum) << f;
  }
}

TEST(Order, MaximaOfWhatDoesNeither) {
  for (const char* f :
       {"$1 = Abs($0)", "$1 = Mul($0, $0)", "$1 = LeakyRelu<alpha=-0.5>($0)", "e = Exp($0) $1 = Sub($0, e)",
        "s = Sigmoid($0) $1 = Mul($0, s)", "$1 = HardSwish($0)"}) {
    EXPECT_FALSE(folded(f).by_maximum) << f;
    EXPECT_FALSE(folded(f).by_minimum) << f;
  }
}

TEST(Order, MaximaOfWindows) {
  EXPECT_TRUE(proves("f = Relu(i) y = MaxPool<kernel_shape=[2], strides=[2]>(f)",
                     "m = MaxPool<kernel_shape=[2], strides=[2]>(i) y = Relu(m)"));
  EXPECT_FALSE(proves("f = Neg(i) y = MaxPool<kernel_shape=[2], strides=[2]>(f)",
                      "m = MaxPool<kernel_shape=[2], strides=[2]>(i) y = Neg(m)"));
}

TEST(Order, TheLargestProbabilityIsTheLargestNumber) {
  EXPECT_TRUE(proves("p = Softmax(x) y = ArgMax<axis=1>(p)", "y = ArgMax<axis=1>(x)"));
  EXPECT_FALSE(proves("p = Softmax(x) y = ArgMax<axis=1>(p)", "y = ArgMin<axis=1>(x)"));
  EXPECT_FALSE(proves("p = Softmax(x) y = ArgMax<axis=0>(p)", "y = ArgMax<axis=0>(x)"));
  EXPECT_FALSE(proves("p = Softmax(x) y = ArgMax<axis=1>(p)", "y = ArgMax<axis=1, select_last_index=1>(x)"));
}

// Over the reals these are equal. In floats exp(-200) is exp(-300), and sigmoid(40) is sigmoid(50).
TEST(Order, WhatSaturatesIsNotLeftOut) {
  EXPECT_FALSE(proves("p = Softmax(x) y = ArgMin<axis=1>(p)", "y = ArgMin<axis=1>(x)"));
  for (const char* f : {"Sigmoid", "Tanh", "Erf", "Exp", "Atan", "Softplus"}) {
    const std::string of = std::string("f = ") + f + "(x) g = " + f + "(z) ";
    EXPECT_FALSE(proves(of + "y = Less(f, g)", "y = Less(x, z)")) << f;
    EXPECT_FALSE(proves(of + "y = Equal(f, g)", "y = Equal(x, z)")) << f;
  }
  EXPECT_FALSE(proves("f = Sigmoid(x) y = ArgMax<axis=1>(f)", "y = ArgMax<axis=1>(x)"));
  EXPECT_FALSE(proves("f = Add(x, two) g = Add(z, two) y = Less(f, g)", "y = Less(x, z)"));
}

TEST(Order, ComparisonsOfWhatDoesNot) {
  EXPECT_TRUE(proves("f = Mul(x, two) g = Mul(z, two) y = Less(f, g)", "y = Less(x, z)"));
  EXPECT_TRUE(proves("f = Neg(x) g = Neg(z) y = Less(f, g)", "y = Less(z, x)"));
  EXPECT_FALSE(proves("f = Neg(x) g = Neg(z) y = Less(f, g)", "y = Less(x, z)"));
  EXPECT_TRUE(proves("f = Asinh(x) g = Asinh(z) y = Less(f, g)", "y = Less(x, z)"));
  EXPECT_TRUE(proves("f = Sigmoid(x) y = Less(f, half)", "n = Sub(half, half) y = Less(x, n)"));
  EXPECT_FALSE(proves("f = Sigmoid(x) y = Less(f, half)", "y = Less(x, half)"));
}

}  // namespace
}  // namespace isomer
