#include "model/graph/text/operator_text.h"

#include <gtest/gtest.h>

#include "model/graph/infer.h"
#include "model/graph/interpret.h"
#include "model/graph/text/text.h"

namespace isomer {
namespace {

const std::string kThreshold = R"(
# rows, divided by how large they are; small elements are gone
operator test.text::Threshold(x: T[n, m], t: T[m]; low: float = 0.0) -> (y: T[n, m]) {
  size[i < n] = sum(j < m: abs(x[i, j]))
  y[i, j] = where(x[i, j] > t[j], x[i, j] - t[j], low) / size[i]
})";
const std::string kWindow = R"(
operator test.text::Window(x: float[n]; k: int = 3, step: int = 2) -> (y: float[(n - k) / step + 1], z: float[n]) {
  y[i] = max(w < k: x[step*i + w])
  z[i] = x[i - 1] + 2*x[i] + x[i + 1]   # zero outside
})";

Tensor floats(const Extents& shape, const std::vector<float>& values) {
  return Tensor::of(ElementType::Float, shape, values);
}

std::string wrong_with(const std::string& text) {
  const auto parsed = parse_operators(text);
  return parsed ? "" : parsed.error().message;
}

Result<Graph> parsed(const std::string& body) {
  auto graph = parse_graph("<ir_version: 8, opset_import: [\"\" : 20, \"test.text\" : 1]> g " + body);
  if (!graph.ok()) return graph;
  OwnOperators own;
  EXPECT_TRUE(add_operators(kThreshold + kWindow, own));
  graph->opsets.own = std::make_shared<const OwnOperators>(own);
  return graph;
}

NamedTensors run(const std::string& body, const NamedTensors& feeds) {
  const auto graph = parsed(body);
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
  const auto out = interpret(*graph, feeds);
  EXPECT_TRUE(out) << (out ? "" : out.error().message);
  EXPECT_FALSE(out->opaque) << out->opaque->reason;
  return out->outputs;
}

TEST(OperatorText, IsEvaluatedAsItSays) {
  const auto y =
      run("(float[1, 2] x, float[2] t) => (float[1, 2] y) { y = test.text.Threshold<low = 0.5>(x, t) }",
          {{"x", floats({1, 2}, {3, -1})}, {"t", floats({2}, {1, 1})}});
  EXPECT_EQ(y.at("y").doubles(), (std::vector<double>{0.5, 0.125}));
  const auto w = run("(float[5] x) => (float[2] y, float[5] z) { y, z = test.text.Window(x) }",
                     {{"x", floats({5}, {1, 5, 2, 3, 4})}});
  EXPECT_EQ(w.at("y").doubles(), (std::vector<double>{5, 4}));
  EXPECT_EQ(w.at("z").doubles(), (std::vector<double>{7, 13, 12, 12, 11}));
}

// The meaning of an attribute that the text does not state is unknown.
TEST(OperatorText, SaysNothingOfCallsWithAttributesThatItDoesNotState) {
  const auto reason = [](const std::string& attributes) {
    const auto graph = parsed("(float[5] x) => (y, z) { y, z = test.text.Window" + attributes + "(x) }");
    const auto inferred = infer(*graph, {});
    return inferred->opaque.empty() ? "" : inferred->opaque.begin()->second;
  };
  EXPECT_EQ(reason(""), "");
  EXPECT_EQ(reason("<k = 2>"), "");
  EXPECT_EQ(reason("<k = 2, mode = 1>"), "attribute mode is not stated");
  EXPECT_EQ(reason("<k = 2.0>"), "attribute k is stated to be int");
  EXPECT_EQ(reason("<k = [2]>"), "attribute k is stated to be int");
}

TEST(OperatorText, GivesShapesOverSymbols) {
  const auto graph = parsed("(float[N] x) => (y, z) { y, z = test.text.Window<k = 1, step = 1>(x) }");
  ASSERT_TRUE(graph) << graph.error().message;
  const auto inferred = infer(*graph, {});
  ASSERT_TRUE(inferred);
  EXPECT_EQ(text(*inferred->of(graph->outputs()[0]).shape), "[N]");
}

TEST(OperatorText, WhatItDoesNotSpeakOfIsOpaque) {
  OwnOperators own;
  ASSERT_TRUE(add_operators(kThreshold, own));
  const Operator* op = own.find("test.text", "Threshold");
  ASSERT_NE(op, nullptr);
  const auto asked = [&](const TensorType& x, const TensorType& t) {
    Call call;
    call.opset = 1;
    call.inputs = {Call::Input{.type = x}, Call::Input{.type = t}};
    const Definition definition = define(*op, call);
    const auto* opaque = std::get_if<Opaque>(&definition);
    return opaque ? opaque->reason : "";
  };
  using enum ElementType;
  EXPECT_EQ(asked({Float, {2, 3}}, {Float, {3}}), "");
  EXPECT_EQ(asked({Float16, {2, 3}}, {Float16, {3}}), "");
  EXPECT_EQ(asked({Float, {2, 3}}, {Float, {4}}), "axis 0 of t is 4, and stated to be 3");
  EXPECT_EQ(asked({Float, {2, 3}}, {Double, {3}}), "t is of type double");
  EXPECT_EQ(asked({Float, {2, 3, 1}}, {Float, {3}}), "x has 3 axes");
  EXPECT_EQ(asked({Int64, {2, 3}}, {Int64, {3}}), "x is of type int64");
}

TEST(OperatorText, SaysWhereItIsWrong) {
  const auto in = [](const std::string& line) {
    return wrong_with("operator a::B(x: float[n], c: bool[n]) -> (y: float[n]) {\n" + line + "\n}");
  };
  EXPECT_EQ(in("y[i] = x[i]"), "");
  EXPECT_EQ(in("y[i] = x[j]"), "line 2, column 10: j is neither an axis nor a size");
  EXPECT_EQ(in("y[i, j] = x[i]"), "line 2, column 7: y has 1 axes");
  EXPECT_EQ(in("y[i] = w[i]"), "line 2, column 10: there is no tensor w yet");
  EXPECT_EQ(in("y[i] = sine(x[i])"), "line 3, column 1: there is no function sine");
  EXPECT_EQ(in("y[i] = x[i*i]"), "line 2, column 13: axes are multiplied with sizes, and divided by them");
  EXPECT_EQ(in("y[i] = x[i] + c[i]"), "line 3, column 1: float and bool are not of one type");
  EXPECT_EQ(in("y[i] = exp(c[i])"), "line 3, column 1: exp is of floats");
  EXPECT_EQ(in("y[i] = float(i / i)"), "line 2, column 19: whole numbers are not divided");
  EXPECT_EQ(in("y[i] = x[i / 0]"), "line 2, column 15: divided by what is not positive");
  EXPECT_EQ(in("y[i] = i"), "line 3, column 1: y is of type int64, and float is stated");
  EXPECT_EQ(in("z[i < n] = x[i]"), "line 3, column 2: y has no value, or not in the order of the outputs");
  EXPECT_EQ(wrong_with("operator a::B(x: string[n]) -> (y: float[n]) { y[i] = 1 }"),
            "line 1, column 24: there is no element type string");
}

TEST(OperatorText, RefusesWhatNoStackBears) {
  const auto in = [](const std::string& line) {
    return wrong_with("operator a::B(x: float[n]) -> (y: float[n]) { y[i] = " + line + " }");
  };
  const auto times = [](int count, const std::string& part) {
    std::string out;
    for (int i = 0; i < count; ++i) out += part;
    return out;
  };
  const std::string why = "too long, or nested too deeply";
  for (const std::string level : {"(", "-", "abs(", "max(1, ", "where(1 < 2, ", "where("})
    EXPECT_NE(in(times(200'000, level) + "x[i]").find(why), std::string::npos) << level;
  EXPECT_NE(in("x[" + times(200'000, "(") + "i]").find(why), std::string::npos);
  EXPECT_NE(in("x[i]" + times(200'000, " + x[i]")).find(why), std::string::npos);
  EXPECT_NE(in("x[i" + times(200'000, " + 0*n") + "]").find(why), std::string::npos);
  EXPECT_EQ(in(times(20, "(") + "x[i]" + times(20, ")")), "");
  EXPECT_EQ(in("x[i]" + times(100, " + x[i]")), "");
}

TEST(OperatorText, RefusesNumbersBeyondSixtyFourBits) {
  EXPECT_NE(wrong_with("operator a::B(x: int64[n]) -> (y: int64[n]) { y[i] = x[i] + 1e300 }"), "");
  EXPECT_NE(
      wrong_with("operator a::B(x: float[n]) -> (y: float[n]) { y[i] = x[i * 4611686018427387904 * 4] }"),
      "");
  EXPECT_NE(
      wrong_with("operator a::B(x: float[n * 9223372036854775807 * n * 3]) -> (y: float[n]) { y[i] = 1 }"),
      "");
}

TEST(OperatorText, StatesNothingAboutOthersOperators) {
  OwnOperators own;
  const auto stated = [&](const std::string& name, const std::string& value) {
    return add_operators("operator " + name + "(x: float[n]) -> (y: float[n]) { y[i] = " + value + " }", own);
  };
  EXPECT_FALSE(stated("ai.onnx::Relu", "x[i]"));
  EXPECT_FALSE(stated("com.microsoft::Gelu", "x[i]"));
  EXPECT_TRUE(stated("test.text::Same", "x[i]"));
  EXPECT_TRUE(stated("test.text::Same", "x[i]"));
  EXPECT_FALSE(stated("test.text::Same", "x[i] + 1"));
  EXPECT_EQ(own.texts().size(), 1u);
}

TEST(OperatorText, IsKnownOnlyInTheGraphThatItIsStatedFor) {
  const std::string body = "(float[5] x) => (y, z) { y, z = test.text.Window(x) }";
  const auto stated = parsed(body);
  auto other = parsed(body);
  ASSERT_TRUE(stated && other);
  other->opsets.own = nullptr;
  EXPECT_TRUE(infer(*stated, {})->opaque.empty());
  EXPECT_EQ(infer(*other, {})->opaque.size(), 1u);
}

}  // namespace
}  // namespace isomer
