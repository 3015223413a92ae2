#include "compiler/cover/mix_models.h"

#include <gtest/gtest.h>

#include "model/graph/interpret.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

using testing::parsed;

Model model_of(const std::string& body) {
  Model model;
  model.graph = parsed(R"(<opset_import: ["" : 18]> m (float[4,4] x) => (float[4,4] y) {)" + body + "}");
  model.ir_version = 8;
  return model;
}

CoverMaker cover_of(const Model& model, const std::vector<Border>& borders) {
  auto cut = cut_model(model, {}, {.borders = borders});
  if (!cut.ok()) throw std::runtime_error(cut.error().message);
  return CoverMaker(std::move(*cut));
}

constexpr char kA[] =
    "a = MatMul(x, x) b = MatMul(a, a) c = Add(b, x) d = MatMul(c, c) e = MatMul(d, d) y = Add(e, c)";
// The same with its second half said in another way, by names that the first half has, too.
constexpr char kB[] =
    "a = MatMul(x, x) b = MatMul(a, a) c = Add(x, b) b2 = MatMul(c, c) a2 = MatMul(b2, b2) y = Add(c, a2)";

std::vector<SegmentTimes> times(double first, double second) {
  return {{.ours_ns = 100, .runtime_ns = first}, {.ours_ns = 100, .runtime_ns = second}};
}

TEST(BordersOf, AreFoundInAnEqualModel) {
  const CoverMaker a = cover_of(model_of(kA), {});
  const auto borders = borders_of(a.cut());
  EXPECT_EQ(borders, std::vector<Border>{{"c"}});
  const CoverMaker b = cover_of(model_of(kB), borders);
  ASSERT_EQ(b.cut().segments.size(), 2u);
  EXPECT_EQ(b.cut().segments[1].border, 0u);
}

TEST(CheapestMix, TakesEachStretchFromTheModelThatHasItCheaper) {
  CoverMaker a = cover_of(model_of(kA), {});
  CoverMaker b = cover_of(model_of(kB), borders_of(a.cut()));
  a.set_times(times(5, 9));
  b.set_times(times(8, 3));
  const Mix mix = cheapest_mix({&a, &b});
  EXPECT_EQ(mix.ns, 8);
  ASSERT_EQ(mix.parts.size(), 2u);
  EXPECT_EQ(mix.parts[0].model, 0u);
  EXPECT_EQ(mix.parts[1].model, 1u);
}

TEST(MixedModel, ComputesTheSame) {
  const CoverMaker a = cover_of(model_of(kA), {}), b = cover_of(model_of(kB), borders_of(a.cut()));
  const auto mixed = mixed_model({&a, &b}, {{0, 0, 1}, {1, 1, 1}});
  ASSERT_TRUE(mixed.ok()) << mixed.error().message;
  const NamedTensors feeds{
      {"x", Tensor::of(ElementType::Float, {4, 4},
                       std::vector<float>{-3, 1, 2, -1, 0, 4, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3})}};
  const auto one = interpret(model_of(kA).graph, feeds), other = interpret(mixed->graph, feeds);
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_TRUE(one->outputs.at("y").same_bits(other->outputs.at("y")));
}

TEST(MixedModel, RefusesPartsThatDoNotFit) {
  const CoverMaker a = cover_of(model_of(kA), {});
  EXPECT_FALSE(mixed_model({&a}, {{0, 1, 1}}).ok());             // no node makes c
  EXPECT_FALSE(mixed_model({&a}, {{0, 0, 1}, {0, 0, 1}}).ok());  // c is made twice
}

}  // namespace
}  // namespace isomer
