#include "kernel/prove/step.h"

#include <gtest/gtest.h>

#include "model/graph/constant.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;
using testing::value_named;

std::string body_of(const std::string& constants, const std::string& body) {
  return "<ir_version: 8, opset_import: [\"\" : 18]> g (float[1] x) => (x, k) <" + constants + "> {" + body +
         "}";
}

// A constant after folding, in its own type.
Tensor folded(const std::string& constants, const std::string& body) {
  const auto graph = fold_constants(parsed(body_of(constants, body)), {"k"});
  if (!graph.ok()) throw std::runtime_error(graph.error().message);
  return known_constant(*graph, value_named(*graph, "k" + std::string(kFoldedSuffix))).value();
}

// More elements than inference looks at, all alike.
std::string many(const std::string& name, const std::string& number) {
  std::string out = "float[1100] " + name + " = {";
  for (int i = 0; i < 1100; ++i) out += (i ? "," : "") + number;
  return out + "}";
}

TEST(FoldConstants, RoundsSmoothArithmeticOnce) {
  // In float32 the sum forgets the small one.
  for (const bool is_large : {false, true}) {
    const std::string c = is_large ? many("c", "3.0") : "float[2] c = {3.0, 3.0}";
    const Tensor k = folded(c + ", float[1] big = {100000000.0}", "a = Add(c, big) k = Sub(a, big)");
    EXPECT_EQ(k.as<float>()[0], 3.0F) << is_large;
  }
}

TEST(FoldConstants, TakesJumpsFromTheStoredTypes) {
  for (const bool is_large : {false, true}) {
    const std::string c =
        (is_large ? many("c", "10.0") : "float[2] c = {10.0, 10.0}") + ", float[1] t = {0.1}";
    const auto first = [&](const std::string& body) { return folded(c, body).doubles()->front(); };
    EXPECT_EQ(first("p = Mul(c, t) k = Ceil(p)"), 1) << is_large;
    EXPECT_EQ(first("p = Mul(c, t) q = Ceil(p) k = Add(q, c)"), 11) << is_large;
    EXPECT_EQ(first("p = Div(c, t) q = Mul(p, t) r = Equal(q, c) k = Cast<to=1>(r)"), 1) << is_large;
    EXPECT_EQ(first("p = Div(c, t) k = Cast<to=7>(p)"), 100) << is_large;
  }
}

TEST(FoldConstants, RoundsWhereTheModelCastsToANarrowerFloat) {
  for (const bool is_large : {false, true}) {
    const std::string c = is_large ? many("c", "1.0009765625") : "float[2] c = {1.0009765625, 1.0009765625}";
    EXPECT_EQ(folded(c, "h = Cast<to=16>(c) k = Cast<to=1>(h)").as<float>()[0], 1.0F) << is_large;
    EXPECT_EQ(folded(c, "h = Cast<to=16>(c) b = Cast<to=1>(h) k = Sub(b, c)").as<float>()[0], -0.0009765625F)
        << is_large;
    // What is too large for a float16 is infinite, and stays so.
    const Tensor k = folded(c + ", float[1] m = {1000000.0}, float[1] most = {1000000000.0}",
                            "a = Mul(c, m) h = Cast<to=10>(a) b = Cast<to=1>(h) k = Min(b, most)");
    EXPECT_EQ(k.as<float>()[0], 1e9F) << is_large;
  }
}

TEST(FoldConstants, LeavesWhatRuntimesMayDifferIn) {
  for (const bool is_large : {false, true}) {
    const std::string c =
        (is_large ? many("c", "16.0") : "float[2] c = {16.0, 16.0}") + ", float[1] two = {2.0}";
    const Graph graph = parsed(body_of(c, "p = Log(c) q = Log(two) r = Div(p, q) k = Cast<to=7>(r)"));
    EXPECT_FALSE(fold_constants(graph, {"k"}).ok()) << is_large;
    EXPECT_TRUE(fold_constants(graph, {"r"}).ok()) << is_large;
  }
}

TEST(FoldConstants, NeedsDigitsThatCancellationHasLeft) {
  // A step before may have written it so: as real numbers that is c.
  for (const bool is_large : {false, true}) {
    const std::string c = is_large ? many("c", "5.3") : "float[2] c = {5.3, 5.3}";
    const auto is_folded = [&](const std::string& big, const std::string& last) {
      const std::string constants = c + ", float[1] big = {" + big + "}";
      return fold_constants(parsed(body_of(constants, "a = Add(c, big) d = Sub(a, big)" + last)), {"k"}).ok();
    };
    EXPECT_TRUE(is_folded("1e8", " k = Neg(d)")) << is_large;
    EXPECT_TRUE(is_folded("-5.3", " k = Neg(d)")) << is_large;  // 0, exactly, and back
    for (const std::string big : {"1e15", "1e30"}) EXPECT_FALSE(is_folded(big, " k = Neg(d)")) << is_large;
    for (const std::string big : {"1e8", "1e15", "1e30"})
      for (const std::string jump : {" k = Floor(d)", " k = Cast<to=7>(d)", " h = Cast<to=16>(d) k = Neg(h)"})
        EXPECT_FALSE(is_folded(big, jump)) << is_large << big << jump;
  }
}

TEST(FoldConstants, LetsIntegersWrap) {
  const Tensor k =
      folded("uint8[1] a = {200}, uint8[1] b = {100}, uint8[1] two = {2}", "s = Add(a, b) k = Div(s, two)");
  EXPECT_EQ(k.as<std::uint8_t>()[0], 22);
}

}  // namespace
}  // namespace isomer
