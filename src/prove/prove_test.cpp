#include "prove/prove.h"

#include <gtest/gtest.h>

#include "graph/text.h"

namespace isomer {
namespace {

Graph program(const std::string& inputs, const std::string& outputs, const std::string& body) {
  auto graph = parse_graph("<ir_version: 8, opset_import: [\"\" : 18]>\nagraph (" + inputs + ") => (" +
                           outputs + ") {\n" + body + "\n}");
  if (!graph.ok()) ADD_FAILURE() << graph.error().message << " in " << body;
  return *graph;
}

bool is_proved(const Verdict& v) { return std::holds_alternative<Proved>(v); }
bool is_refuted(const Verdict& v) { return std::holds_alternative<Refuted>(v); }

TEST(Prove, MatMulIsAssociativeForAllSizes) {
  const std::string in = "float[M,K] x, float[K,N] w, float[N,P] v", out = "float[M,P] y";
  const Graph a = program(in, out, "t = MatMul(x, w)\ny = MatMul(t, v)");
  const Graph b = program(in, out, "t = MatMul(w, v)\ny = MatMul(x, t)");
  const Verdict v = prove_equal(a, b);
  EXPECT_TRUE(is_proved(v)) << text(v);
}

TEST(Prove, ReluDoesNotCommuteWithMatMul) {
  const std::string in = "float[M,K] x, float[K,N] w", out = "float[M,N] y";
  const Graph a = program(in, out, "t = MatMul(x, w)\ny = Relu(t)");
  const Graph b = program(in, out, "t = Relu(x)\ny = MatMul(t, w)");
  const Verdict v = prove_equal(a, b);
  EXPECT_TRUE(is_refuted(v)) << text(v);
}

TEST(Prove, ConvolutionsOfOneInputMergeAtRealSizes) {
  const std::string in = "float[1,64,56,56] x, float[64,64,3,3] w, float[64,64,3,3] v",
                    out = "float[1,128,56,56] y";
  const Graph a = program(in, out,
                          "s = Conv<pads=[1,1,1,1]>(x, w)\nt = Conv<pads=[1,1,1,1]>(x, v)\n"
                          "c = Concat<axis=1>(s, t)\ny = Relu(c)");
  const Graph b = program(in, out, "k = Concat<axis=0>(w, v)\nc = Conv<pads=[1,1,1,1]>(x, k)\ny = Relu(c)");
  const Verdict v = prove_equal(a, b);
  EXPECT_TRUE(is_proved(v)) << text(v);
}

TEST(Prove, SoftmaxIsShiftInvariant) {
  const std::string in = "float[4,5] x, float[4,1] s", out = "float[4,5] y";
  const Graph a = program(in, out, "y = Softmax<axis=-1>(x)");
  const Graph b = program(in, out, "t = Add(x, s)\ny = Softmax<axis=-1>(t)");
  const Verdict v = prove_equal(a, b);
  EXPECT_TRUE(is_proved(v)) << text(v);
}

TEST(Prove, WitnessesDoNotDisagreeAboutScales) {
  const std::string in = "float[4] x", out = "float[4] y";
  for (const char* k : {"2.0", "3.0", "0.1", "6.0"}) {
    const std::string c = std::string("k = Constant<value_float=") + k + ">()\n";
    const Verdict v = prove_equal(program(in, out, c + "t = Mul(x, k)\ny = Relu(t)"),
                                  program(in, out, c + "t = Relu(x)\ny = Mul(t, k)"));
    EXPECT_FALSE(std::holds_alternative<WitnessesDisagree>(v)) << k << ": " << text(v);
    EXPECT_FALSE(is_refuted(v)) << k;
  }
}

TEST(Prove, DefinednessMatters) {  // trap 6
  const std::string in = "float[4] x, float[4] y", out = "float[4] z";
  const Graph a = program(in, out, "z = Identity(x)");
  const Graph b = program(in, out, "t = Mul(x, y)\nz = Div(t, y)");
  EXPECT_FALSE(is_proved(prove_equal(a, b)));
  EXPECT_TRUE(is_proved(prove_equal(b, a))) << text(prove_equal(b, a));
}

TEST(Prove, LayerNormInBothVarianceForms) {
  const std::string in = "float[4,8] x", out = "float[4,8] y";
  const std::string e =
      "e = Constant<value_float=1e-5>()\ntwo = Constant<value_float=2.0>()\n"
      "ax = Constant<value_ints=[-1]>()\n";
  const Graph a = program(in, out,
                          e + "m = ReduceMean(x, ax)\nd = Sub(x, m)\nq = Pow(d, two)\nv = ReduceMean(q, ax)\n"
                              "w = Add(v, e)\nr = Sqrt(w)\ny = Div(d, r)");
  const Graph b = program(in, out,
                          e + "m = ReduceMean(x, ax)\nq = Mul(x, x)\nn = ReduceMean(q, ax)\nk = Mul(m, m)\n"
                              "v = Sub(n, k)\nw = Add(v, e)\nr = Sqrt(w)\nd = Sub(x, m)\ny = Div(d, r)");
  const Verdict v = prove_equal(a, b);
  EXPECT_TRUE(is_proved(v)) << text(v);
}

}  // namespace
}  // namespace isomer
