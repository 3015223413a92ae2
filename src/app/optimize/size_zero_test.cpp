#include "app/optimize/size_zero.h"

#include <gtest/gtest.h>

#include "model/graph/testing.h"

namespace isomer {
namespace {

TEST(FeedsAtZero, MakeOneOpenSizeAfterTheOtherZero) {
  const Graph graph = testing::parsed(
      "<ir_version: 8, opset_import: [\"\" : 18]>\n"
      "agraph (float[N,3] x, float[N,M] y, float[?] z, float[2] f) => (float[N,3] a) {a = Neg(x)}");
  const auto tensor = [](const Extents& extents) {
    return Tensor::of(ElementType::Float, extents,
                      std::vector<float>(static_cast<std::size_t>(*element_count(extents))));
  };
  const NamedTensors feeds{
      {"x", tensor({2, 3})}, {"y", tensor({2, 5})}, {"z", tensor({4})}, {"f", tensor({2})}};
  const auto found = feeds_at_zero(graph, feeds);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].first, "M=0");
  EXPECT_EQ(found[0].second.at("y").extents(), (Extents{2, 0}));
  EXPECT_EQ(found[0].second.at("x").extents(), (Extents{2, 3}));
  EXPECT_EQ(found[1].first, "N=0");
  EXPECT_EQ(found[1].second.at("x").extents(), (Extents{0, 3}));
  EXPECT_EQ(found[1].second.at("y").extents(), (Extents{0, 5}));
  EXPECT_EQ(found[1].second.at("f").extents(), (Extents{2}));
  EXPECT_EQ(found[2].first, "z[0]=0");
  EXPECT_EQ(found[2].second.at("z").count(), 0);
}

}  // namespace
}  // namespace isomer
