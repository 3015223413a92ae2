#include "kernel/prove/translate.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "model/expr/formula.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

bool may_be_undefined(const std::string& input, const std::string& body) {
  const Graph graph = testing::parsed("<ir_version: 8, opset_import: [\"\" : 18]>\nagraph (" + input +
                                      ") => (y) {\n" + body + "\n}");
  const auto info = infer(graph);
  const Definition definition = define_node(graph, *info, graph.outputs()[0].node);
  if (!std::holds_alternative<Formula>(definition)) throw std::logic_error(body + " has no formula");
  return may_be_undefined(graph, graph.outputs()[0].node, std::get<Formula>(definition));
}

TEST(Translate, AWindowThatMeetsTheImageHasAMaximum) {
  EXPECT_FALSE(
      may_be_undefined("float[1,1,8] x", "y = MaxPool<kernel_shape=[3], strides=[2], pads=[1,1]>(x)"));
  EXPECT_FALSE(may_be_undefined("float[1,1,N] x", "y = MaxPool<kernel_shape=[3], pads=[1,1]>(x)"));
  // A window of two that begins two before the image.
  for (const std::int64_t before : {1, 2}) {
    FormulaBuilder f({TensorType{ElementType::Float, {4}}});
    const auto x = f.input(0);
    const auto p = f.axes({4}), k = f.axes({2});
    const Index at = Index(p[0]) + Index(k[0]) - before;
    f.output(p, reduce(Reduction::Max, k, x.at({at}), between(0, at, 4)));
    EXPECT_EQ(isomer::may_be_undefined(std::move(f).finish()), before == 2);
  }
}

TEST(Translate, AQuantiserCutsOffBeforeItCasts) {
  const std::string in = "float[4] x, float s";
  const auto by = [](const std::string& scale) {
    return "s = Constant<value_float=" + scale + ">()\nz = Constant<value=uint8 {3}>()\n" +
           "y = QuantizeLinear(x, s, z)";
  };
  EXPECT_FALSE(may_be_undefined("float[4] x", by("0.02")));
  EXPECT_TRUE(may_be_undefined("float[4] x", by("-0.02")));  // not seen to be no zero
  EXPECT_TRUE(may_be_undefined(in, "z = Constant<value=uint8 {3}>()\ny = QuantizeLinear(x, s, z)"));
  // Cut off, but not at what the type has.
  FormulaBuilder f({TensorType{ElementType::Float, {}}});
  const Expr low = apply(Fn::Max, {f.input(0)(), number(ElementType::Float, 0)});
  for (const double high : {255.0, 256.0}) {
    FormulaBuilder g({TensorType{ElementType::Float, {}}});
    g.output({}, cast(apply(Fn::Min, {low, number(ElementType::Float, high)}), ElementType::Uint8));
    EXPECT_EQ(isomer::may_be_undefined(std::move(g).finish()), high > 255);
  }
}

TEST(Translate, WhatAQuotientIsByMayBeKnown) {
  const std::string two = "float[4] x, float[4] z", one = "float[2,4] x";
  for (const char* body :
       {"y = Div(x, z)", "y = Sqrt(x)", "y = Log(x)", "y = Reciprocal(x)", "y = Cast<to=7>(x)"})
    EXPECT_TRUE(may_be_undefined(two, body)) << body;
  for (const char* body : {"y = Mul(x, z)", "y = Sigmoid(x)", "y = Cast<to=11>(x)"})
    EXPECT_FALSE(may_be_undefined(two, body)) << body;
  for (const char* body : {"y = Softmax(x)", "y = ReduceMean<keepdims=0>(x)", "y = ReduceL2(x)"})
    EXPECT_FALSE(may_be_undefined(one, body)) << body;
  EXPECT_TRUE(may_be_undefined(one, "y = LpNormalization(x)"));
  EXPECT_TRUE(may_be_undefined(one, "y = ReduceLogSum(x)"));
  const std::string scaled = "float[2,4] x, float[4] s";
  EXPECT_FALSE(may_be_undefined(scaled, "y = LayerNormalization(x, s)"));
  EXPECT_TRUE(may_be_undefined(scaled, "y = LayerNormalization<epsilon=0.0>(x, s)"));
  const auto by = [](const std::string& numbers) {
    return may_be_undefined("float[2] x", "c = Constant<value_floats=[" + numbers + "]>()\ny = Div(x, c)");
  };
  EXPECT_FALSE(by("8.0, 0.5"));
  EXPECT_TRUE(by("8.0, 0.0"));
  EXPECT_TRUE(by("8.0, -1.0"));  // not seen
}

TEST(Translate, ALongRecurrenceIsSeenThroughOnce) {
  constexpr int kSteps = 80;
  for (const double begin : {1.0, -1.0}) {
    FormulaBuilder f({TensorType{ElementType::Float, {}}});
    Expr x = f.stage({}, number(ElementType::Float, begin))();
    for (int k = 0; k < kSteps; ++k) x = f.stage({}, x * x + x)();
    f.output({}, f.input(0)() / x);
    EXPECT_EQ(isomer::may_be_undefined(std::move(f).finish()), begin < 0);
  }
}

}  // namespace
}  // namespace isomer
