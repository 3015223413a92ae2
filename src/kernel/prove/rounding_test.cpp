#include "kernel/prove/rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "base/hash.h"
#include "kernel/prove/float_error.h"
#include "model/graph/rebuild.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;

Graph program(const std::string& body, const std::string& constants) {
  return parsed("<ir_version: 8, opset_import: [\"\" : 18]>\nagraph () => (k) <" + constants + "> {\n" +
                body + "\n}");
}

Tensor floats(const std::vector<float>& values) {
  return Tensor::of(ElementType::Float, {static_cast<std::int64_t>(values.size())}, values);
}

TEST(Rounding, WhatIsOnlyMovedIsExact) {
  const Graph moved = program("k = Concat<axis=0>(a, b)", "float[1] a = {0.1}, float[2] b = {2.0, 3.0}");
  const auto exact = compare_folded(floats({0.1F, 2, 3}), moved);
  ASSERT_TRUE(exact.ok());
  EXPECT_TRUE(exact->is_exact);
  EXPECT_FALSE(exact->is_restated);
}

TEST(Rounding, LastDigitsMayBeRestatedAndNoMore) {
  const auto matrix = [](float x) {
    return Tensor::of(ElementType::Float, {1, 2}, std::vector<float>{x, 2});
  };
  const Graph same = program("k = Identity(a)", "float[1,2] a = {0.1, 2.0}");
  const auto restated = compare_folded(matrix(0.1F + 1.5e-8F), same);
  ASSERT_TRUE(restated.ok());
  EXPECT_FALSE(restated->is_exact);
  EXPECT_TRUE(restated->is_restated);
  EXPECT_LE(restated->worst_ulp, 4);
  EXPECT_FALSE(compare_folded(matrix(0.1F + 1e-7F), same).ok());
  EXPECT_FALSE(compare_folded(matrix(0.101F), same).ok());
  EXPECT_FALSE(compare_folded(matrix(-0.1F), same).ok());
  // Each element by itself, whatever stands beside it.
  const Graph bias = program("k = Identity(a)", "float[2] a = {0.1, 2.0}");
  EXPECT_TRUE(compare_folded(floats({0.1F + 1.5e-8F, 2}), bias).ok());
  EXPECT_FALSE(compare_folded(floats({0.1F + 1e-7F, 2}), bias).ok());
}

TEST(Rounding, NoRestatedElementChangesItsSignOrIsMeasuredByAnother) {
  const Graph divisor = program("k = Identity(a)", "float[4] a = {1000000.0, 0.001, 0.0, 3.0}");
  EXPECT_TRUE(compare_folded(floats({1e6F, 0.001F, 0, 3}), divisor).ok());
  EXPECT_FALSE(compare_folded(floats({1e6F, -0.1F, 0, 3}), divisor).ok());
  EXPECT_FALSE(compare_folded(floats({1e6F, 0.0011F, 0, 3}), divisor).ok());
  EXPECT_FALSE(compare_folded(floats({1e6F, 0, 0, 3}), divisor).ok());
  EXPECT_FALSE(compare_folded(floats({1e6F, 0.001F, 1e-12F, 3}), divisor).ok());
}

TEST(Rounding, WhatIsNotFiniteIsTheSame) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor stored = floats({inf, 2, nan});
  for (const std::string op : {"k = Identity(a)", "k = Add(a, z)"}) {
    Graph graph = program(op, "float[3] a = {1.0, 2.0, 3.0}, float[1] z = {0.0}");
    graph = with_changed_nodes(graph, [&](Node& node) {
      if (node.outputs[0] == "a") node.tensor = stored;
    });
    EXPECT_TRUE(compare_folded(stored, graph).ok()) << op;
    EXPECT_FALSE(compare_folded(floats({inf, 5, nan}), graph).ok()) << op;
    EXPECT_FALSE(compare_folded(floats({7, 2, nan}), graph).ok()) << op;
    EXPECT_FALSE(compare_folded(floats({-inf, 2, nan}), graph).ok()) << op;
    EXPECT_FALSE(compare_folded(floats({inf, 2, 3}), graph).ok()) << op;
    EXPECT_FALSE(compare_folded(floats({inf, inf, nan}), graph).ok()) << op;
  }
}

TEST(Rounding, WhatJumpsIsWhatTheStoredTypesMakeOfIt) {
  // In float32 the product is 1; as a real number it is more.
  const Graph ceil = program("p = Mul(a, b)\nk = Ceil(p)", "float[1] a = {10.0}, float[1] b = {0.1}");
  EXPECT_TRUE(compare_folded(floats({1}), ceil).ok());
  EXPECT_FALSE(compare_folded(floats({2}), ceil).ok());
  // 1 + 2^-10 has no place in a bfloat16.
  const Graph cut = program("h = Cast<to=16>(a)\nk = Cast<to=1>(h)", "float[1] a = {1.0009765625}");
  EXPECT_TRUE(compare_folded(floats({1}), cut).ok());
  EXPECT_FALSE(compare_folded(floats({1.0009765625F}), cut).ok());
  // Runtimes need not agree on the logarithm of 16 over that of 2.
  const Graph open = program("p = Log(a)\nq = Log(b)\nr = Div(p, q)\nk = Floor(r)",
                             "float[1] a = {16.0}, float[1] b = {2.0}");
  EXPECT_FALSE(compare_folded(floats({4}), open).ok());
  EXPECT_FALSE(compare_folded(floats({3}), open).ok());
}

TEST(Rounding, OneRoundingIsWithinTheBoundAndOnePercentIsNot) {
  const Graph product = program("k = Mul(a, b)", "float[2] a = {0.1, 3.0}, float[2] b = {0.7, 0.3}");
  const auto folded = compare_folded(floats({0.1F * 0.7F, 3.0F * 0.3F}), product);
  ASSERT_TRUE(folded.ok());
  EXPECT_FALSE(folded->is_exact);
  EXPECT_LE(folded->worst_ulp, 1);
  EXPECT_FALSE(compare_folded(floats({0.1F * 0.7F * 1.01F, 3.0F * 0.3F}), product).ok());
}

// With the constants of these names as the other model's, which a proof takes for symbols.
Result<Rounding> compare(const std::vector<float>& stored, const Graph& graph,
                         const std::set<std::string>& symbols) {
  std::set<NodeId> ids;
  for (const NodeId id : graph.order())
    if (symbols.contains(graph.node(id).outputs[0])) ids.insert(id);
  return compare_folded(floats(stored), graph, ids);
}

TEST(Rounding, CancellationIsMeasuredByTheDigitsOfTheOtherModel) {
  // 0.3 · 3333.6667 - 1000 is off by the roundings of a thousand, not of a tenth.
  const Graph graph = program("p = Mul(a, s)\nk = Sub(p, b)",
                              "float[2] a = {3333.6667, 50.0}, float[2] s = {0.3, 1.0}, "
                              "float[2] b = {1000.0, 0.0}");
  const std::set<std::string> all{"a", "b", "s"};
  EXPECT_FALSE(compare({0.10003662F, 50}, graph, all)->has_cancelled);
  const auto off = compare({0.10003662F + 1e-4F, 50}, graph, all);
  ASSERT_TRUE(off.ok());
  EXPECT_TRUE(off->leans_on_symbols);
  // In its own units the error is still large, and the report gives that number.
  EXPECT_GT(off->worst_ulp, 1000);
  EXPECT_FALSE(compare({0.1020F, 50}, graph, all).ok());
  // Numbers that the program brings along have no digits to lean on.
  EXPECT_FALSE(compare({0.10003662F + 1e-4F, 50}, graph, {}).ok());
  // What floats subtract exactly leaves no rounding.
  const Graph exact = program("k = Sub(a, b)", "float[2] a = {1000.1, 50.0}, float[2] b = {1000.0, 0.0}");
  EXPECT_TRUE(compare({0.09997559F, 50}, exact, {"a", "b"}).ok());
  EXPECT_FALSE(compare({0.09997559F + 5e-5F, 50}, exact, {"a", "b"}).ok());
}

TEST(Rounding, WhatIsAddedAndTakenAwayExplainsNothing) {
  const std::string w = "float[2] w = {1000.0, 0.1}, ";
  const std::vector<std::pair<std::string, std::string>> programs = {
      {"s = Add(w, l)\nk = Sub(s, l)", "float[1] l = {1e8}"},
      {"s = Add(w, l)\nk = Sub(s, l)", "float[1] l = {1e15}"},
      {"s = Add(w, l)\nk = Sub(s, l)", "float[1] l = {1e30}"},
      {"s = Add(w, b)\nk = Sub(s, b)", "float[2] b = {1e8, 3e8}"},
      {"s = Add(w, b)\nk = Sub(s, b)", "float[2] b = {1e14, 3e15}"},
      {"s = Add(w, l)\nr = Relu(s)\nd = Sub(r, l)\nk = Relu(d)", "float[1] l = {1e15}"},
      {"s = Add(w, l)\nd = Sub(s, l)\ni = Div(o, d)\nk = Div(o, i)", "float[1] l = {1e15}, float[1] o = {1}"},
      {"s = Add(w, l)\nd = Sub(s, l)\ne = Exp(d)\nk = Log(e)", "float[1] l = {1e15}"},
      {"q = Mul(w, w)\ns = Add(q, l)\nd = Sub(s, l)\nk = Sqrt(d)", "float[1] l = {1e15}"},
      {"p = Mul(w, l)\nk = Div(p, l)", "float[1] l = {1e30}"},
      {"u = Unsqueeze(w, n)\nt = Expand(b, m)\nc = Concat<axis=0>(u, t)\nk = ReduceSum<keepdims=0>(c, n)",
       "float[2,1] b = {1e8, -1e8}, int64[1] n = {0}, int64[2] m = {2, 2}"},
      {"c = Concat<axis=0>(w, l)\nt = Slice(c, o, q)\nx = Add(w, t)\nk = Sub(x, t)",
       "float[1] l = {1e8}, int64[1] o = {2}, int64[1] q = {3}"},
      {"r = Reshape(w, n)\np = MatMul(r, l)\nq = MatMul(p, c)\nk = Reshape(q, m)",
       "float[2,2] l = {1e4, 1, 1, 2e-4}, float[2,2] c = {2e-4, -1, -1, 1e4}, int64[2] n = {1, 2}, "
       "int64[1] m = {2}"}};
  for (const auto& [body, constants] : programs) {
    const Graph graph = program(body, w + constants);
    for (const float other : {0.3F, 0.12F, 0.125F, 0.101F, 0.10001F, 0.0F, -0.1F})
      EXPECT_FALSE(compare({1000, other}, graph, {"w", "b"}).ok()) << body << constants << other;
  }
}

TEST(Rounding, WhatTheRuntimeLosesInAProgramOfTheCertificateIsNotItsMeaning) {
  const std::string w = "float[2] w = {5.5, 0.1}, float[1] l = {1e8}";
  for (const std::string last : {"k = Floor(d)", "h = Cast<to=16>(d)\nk = Cast<to=1>(h)"}) {
    const Graph graph = program("s = Add(w, l)\nd = Sub(s, l)\n" + last, w);
    for (const float first : {0.0F, 5.0F, 5.5F, 8.0F})
      EXPECT_FALSE(compare({first, 0}, graph, {"w"}).ok()) << last << first;
  }
}

TEST(Rounding, ABatchNormThatWasFoldedInFloatsIsItself) {
  // beta - mean · gamma / sqrt(variance + 1e-5), which cancels in every other channel.
  for (const std::int64_t channels : {2, 8, 64, 512}) {
    std::vector<float> beta, mean, gamma, variance, folded;
    std::uint64_t state = 7;
    const auto draw = [&] { return static_cast<float>((state = mix(state)) >> 40u) * 0x1p-24F + 0.05F; };
    for (std::int64_t c = 0; c < channels; ++c) {
      mean.push_back(4 * draw());
      gamma.push_back(draw());
      variance.push_back(9 * draw());
      const float shift = mean.back() * (gamma.back() / std::sqrt(variance.back() + 1e-5F));
      beta.push_back(c % 2 == 0 ? shift * (1 + 1e-5F * draw()) : draw());
      folded.push_back(beta.back() - shift);
    }
    Graph graph =
        program("e = Add(variance, l)\nr = Sqrt(e)\ns = Div(gamma, r)\nm = Mul(mean, s)\nk = Sub(beta, m)",
                "float[1] l = {1e-5}, float[1] beta = {0}, float[1] mean = {0}, float[1] gamma = {0}, "
                "float[1] variance = {0}");
    const std::map<std::string, std::vector<float>> tensors{
        {"beta", beta}, {"mean", mean}, {"gamma", gamma}, {"variance", variance}};
    graph = with_changed_nodes(graph, [&](Node& node) {
      if (const auto at = tensors.find(node.outputs[0]); at != tensors.end())
        node.tensor = floats(at->second);
    });
    const std::set<std::string> all{"beta", "mean", "gamma", "variance"};
    const auto rounding = compare(folded, graph, all);
    ASSERT_TRUE(rounding.ok()) << channels << rounding.error().message;
    EXPECT_TRUE(rounding->leans_on_symbols);
    folded.back() *= 1.001F;
    EXPECT_FALSE(compare(folded, graph, all).ok()) << channels;
  }
}

TEST(Rounding, ShapesAndTypesHaveToAgree) {
  const Graph same = program("k = Identity(a)", "float[2] a = {1.0, 2.0}");
  EXPECT_FALSE(compare_folded(floats({1, 2, 3}), same).ok());
  EXPECT_FALSE(
      compare_folded(Tensor::of(ElementType::Int64, {2}, std::vector<std::int64_t>{1, 2}), same).ok());
}

TEST(Rounding, BelowTheSmallestNormalNumberDigitsAreLost) {
  EXPECT_EQ(smallest_normal(ElementType::Double), std::numeric_limits<double>::min());
  EXPECT_EQ(smallest_normal(ElementType::Float), std::numeric_limits<float>::min());
  EXPECT_EQ(smallest_normal(ElementType::BFloat16), std::numeric_limits<float>::min());
  EXPECT_EQ(smallest_normal(ElementType::Float16), 1.0 / 16384);
}

}  // namespace
}  // namespace isomer
