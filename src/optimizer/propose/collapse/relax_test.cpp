#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::operators;
using testing::program;
using testing::taken;
using testing::weight;

TEST(Relax, PutsZerosAroundAKernelBesideALargerOne) {
  const Graph graph = program("agraph (float[1,2,5,5] x) => (float[1,3,5,5] p, float[1,2,5,5] q) <" +
                              weight("a", "3,2,3,3", 54, 1) + ", " + weight("b", "2,2,1,1", 4, 2) +
                              "> { p = Conv<pads = [1,1,1,1]>(x, a) q = Conv(x, b)}");
  const auto result = taken(propose_relax, graph);
  ASSERT_TRUE(result);
  EXPECT_EQ(operators(*result), "Conv Conv");
  for (const NodeId id : result->order()) {
    if (result->node(id).op != "Conv") continue;
    EXPECT_EQ(*result->node(id).attributes.find_as<Extents>("pads"), (Extents{1, 1, 1, 1}));
  }
}

TEST(Relax, DoesNotEnlargeAKernelThatWouldLookElsewhere) {
  const Graph graph = program("agraph (float[1,2,5,5] x) => (float[1,3,3,3] p, float[1,2,5,5] q) <" +
                              weight("a", "3,2,3,3", 54, 1) + ", " + weight("b", "2,2,1,1", 4, 2) +
                              "> { p = Conv(x, a) q = Conv(x, b)}");
  EXPECT_FALSE(taken(propose_relax, graph));
}

TEST(Relax, AddsTheWeightsOfEqualConvolutions) {
  const Graph graph = program("agraph (float[1,2,5,5] x) => (float[1,3,3,3] y) <" +
                              weight("a", "3,2,3,3", 54, 1) + ", " + weight("b", "3,2,3,3", 54, 2) + ", " +
                              weight("c", "3", 3, 3) + "> { p = Conv(x, a) q = Conv(x, b, c) y = Add(p, q)}");
  const auto result = taken(propose_relax, graph);
  ASSERT_TRUE(result);
  EXPECT_EQ(operators(*result), "Conv");
}

TEST(Relax, PutsANormalizationIntoTheWeightsBeforeIt) {
  const std::string norm = "float[3] s = {1, 2, 3}, float[3] v = {4, 5, 6}, " + weight("m", "3", 3, 1);
  const Graph graph =
      program("agraph (float[1,2,5,5] x) => (float[1,3,3,3] y) <" + weight("a", "3,2,3,3", 54, 1) + ", " +
              norm + "> { p = Conv(x, a) y = BatchNormalization(p, s, m, m, v)}");
  const auto result = taken(propose_relax, graph);
  ASSERT_TRUE(result);
  EXPECT_EQ(operators(*result), "Conv");
}

}  // namespace
}  // namespace isomer
