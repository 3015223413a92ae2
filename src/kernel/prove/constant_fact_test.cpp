#include "kernel/prove/constant_fact.h"

#include <gtest/gtest.h>

#include "kernel/prove/step.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;

constexpr const char* kW = "float[4] w = {1.5, -2.5, 3.5, 0.0}";

// Why the program does not state w; "" if it does.
std::string refusal(const std::string& body, const std::string& more = "", const std::string& w = kW) {
  const Graph program = parsed("<ir_version: 8, opset_import: [\"\" : 18]> g () => (k) <" + w +
                               (more.empty() ? "" : ", " + more) + "> {" + body + "}");
  const auto result =
      states(program, Tensor::of(ElementType::Float, {4}, std::vector<float>{1.5, -2.5, 3.5, 0}));
  return result.ok() ? "" : result.error().message;
}

const std::string kCut = "int64[1] b = {0}, int64[1] e = {3}, int64[2] p = {0, 1}";

TEST(ConstantFact, MovedElementsAndZerosAreStated) {
  EXPECT_EQ(refusal("s = Slice(w, b, e) k = Pad(s, p)", kCut), "");
  EXPECT_EQ(refusal("k = Mul(w, m)", "float[4] m = {1.0, 1.0, 1.0, -5.0}"), "");
}

TEST(ConstantFact, OtherNumbersAreNot) {
  EXPECT_EQ(
      refusal("s = Slice(w, b, e) k = Pad(s, p)", "int64[1] b = {0}, int64[1] e = {2}, int64[2] p = {0, 2}"),
      "its program computes other numbers");
  EXPECT_EQ(refusal("k = Identity(w)", "", "float[4] w = {1.5, -2.5, 3.5, 0.0000001}"),
            "its program computes other numbers");
}

// The difference of two rounded products could be any number.
TEST(ConstantFact, AProductIsExact) {
  const auto states_product = [](const std::string& u, const std::string& v, float product) {
    const Graph program = parsed("<ir_version: 8, opset_import: [\"\" : 18]> g () => (k) <float[1] u = {" +
                                 u + "}, float[1] v = {" + v + "}> {k = Mul(u, v)}");
    return states(program, Tensor::of(ElementType::Float, {1}, std::vector{product})).ok();
  };
  EXPECT_TRUE(states_product("0.375", "0.125", 0.375F * 0.125F));
  EXPECT_FALSE(states_product("0.1", "0.3", 0.1F * 0.3F));
}

TEST(ConstantFact, LookUpsMove) {
  std::string indices = "int64[20] i = {", w = "float[20] w = {";
  std::vector<float> wanted;
  for (int k = 0; k < 20; ++k) {
    const int from = k * k % 19 - (k % 2 == 0 ? 0 : 20);
    indices += (k ? "," : "") + std::to_string(from);
    w += (k ? "," : "") + std::to_string(k) + ".5";
    wanted.push_back(static_cast<float>((from + 20) % 20) + 0.5F);
  }
  const Graph program = parsed("<ir_version: 8, opset_import: [\"\" : 18]> g () => (k) <" + w + "}, " +
                               indices + "}> {k = Gather(w, i)}");
  EXPECT_TRUE(states(program, Tensor::of(ElementType::Float, {20}, wanted)).ok());
}

TEST(ConstantFact, OtherSumsDoNot) {
  EXPECT_NE(refusal("k = CumSum(w, a)", "int64 a = {0}"), "");
  EXPECT_NE(refusal("k = MatMul(w, m)",
                    "float[4,4] m = {1.0,0.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0,0.0,1.0}"),
            "");
}

// In float64 this is 0, whatever w is.
TEST(ConstantFact, SumsMightForgetWhatTheyAreSumsOf) {
  EXPECT_NE(refusal("a = Add(w, big) k = Sub(a, big)", "float[1] big = {1e30}",
                    "float[4] w = {0.0, 0.0, 0.0, 0.0}"),
            "");
  EXPECT_NE(refusal("a = Mul(w, m) k = Mul(a, m)", "float[1] m = {1.0}"), "");
  EXPECT_NE(refusal("k = Ceil(w)"), "");
}

TEST(ConstantFact, IsAboutAConstantThatTheRegionReads) {
  const Graph graph = parsed(
      "<ir_version: 8, opset_import: [\"\" : 18]> g (float[4] x) => (float[4] y) <float[4] w = {1.0, 2.0, "
      "3.0, 4.0}, float[4] v = {1.0, "
      "2.0, 3.0, 5.0}> {y = Mul(x, w)}");
  const Graph same =
      parsed("<ir_version: 8, opset_import: [\"\" : 18]> g (float[4] w) => (k) {k = Identity(w)}");
  Claim claim{
      .inputs = {"x"},
      .outputs = {"y"},
      .after = parsed(
          "<ir_version: 8, opset_import: [\"\" : 18]> g (float[4] x, float[4] w) => (z) {z = Mul(w, x)}")};
  claim.facts = {{"w", same}};
  EXPECT_TRUE(std::holds_alternative<Graph>(prove_claim(graph, claim)));
  for (const char* other : {"v", "x", "nobody"}) {
    claim.facts = {{other, same}};
    EXPECT_FALSE(std::holds_alternative<Graph>(prove_claim(graph, claim))) << other;
  }
}

TEST(ConstantFact, IntegersAreStatedToTheLastBit) {
  const auto states_index = [](const std::string& body, std::int64_t last) {
    const std::string w = "int64[2,2] w = {7, 7, 9007199254740993, " + std::to_string(last) + "}";
    const Graph program = parsed("<ir_version: 8, opset_import: [\"\" : 18]> g () => (k) <" + w +
                                 ", int64[1] b = {0}, int64[1] e = {1}, int64[2] s = {2, 2}> {" + body + "}");
    return states(program, Tensor::of(ElementType::Int64, {2, 2},
                                      std::vector<std::int64_t>{7, 7, 9007199254740993, last}))
        .ok();
  };
  const std::string expanded = "c = Slice(w, b, e, e) k = Expand(c, s)";
  EXPECT_TRUE(states_index(expanded, 9007199254740993));
  EXPECT_FALSE(states_index(expanded, 9007199254740992));  // the same as a double
  EXPECT_FALSE(states_index("c = Slice(w, b, e, e) x = Expand(c, s) f = Cast<to=11>(x) k = Cast<to=7>(f)",
                            9007199254740993));
}

}  // namespace
}  // namespace isomer
