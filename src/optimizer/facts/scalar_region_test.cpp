#include "optimizer/facts/scalar_region.h"

#include <gtest/gtest.h>

#include "model/graph/testing.h"

namespace isomer {
namespace {

TEST(ScalarRegion, AFunctionOfOneNumberByItsValues) {
  const Graph graph = testing::parsed(
      "<ir_version: 8, opset_import: [\"\" : 18]>\n"
      "agraph (float[b,4] x) => (float[b,4] y) <float[1] two = {2}, float[4] many = {1, 2, 3, 4}> {\n"
      "a = Mul(x, many)\nb = Mul(a, two)\nc = Add(a, b)\ny = Relu(c)\n}");
  const auto inference = infer(graph);
  ASSERT_TRUE(inference.ok());
  const Site site(graph, *inference, unknown_machine());
  const ScalarRegions regions(site);
  const auto found = regions.ending_in(graph.outputs()[0]);
  // From c, and from a; what is multiplied with many numbers is no function of one.
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(site.name(found[1].input), "a");
  EXPECT_EQ(regions.values(found[1], {-1, 0, 2}), (std::vector<double>{0, 0, 6}));
  EXPECT_EQ(regions.numbers(found[1]).size(), 1U);
}

// A Slice that turns one element around leaves it alone; of more numbers it takes the first.
TEST(ScalarRegion, HasNoValuesWhereTheNodesDoNotTakeAllNumbers) {
  const Graph graph = testing::parsed(
      "<ir_version: 8, opset_import: [\"\" : 18]>\n"
      "agraph (float[1,5] x) => (float[1,5] y) <int64[1] s = {0}, int64[1] e = {-2}, int64[1] a = {0}, "
      "int64[1] d = {-1}> {\ny = Slice(x, s, e, a, d)\n}");
  const auto inference = infer(graph);
  ASSERT_TRUE(inference.ok());
  const Site site(graph, *inference, unknown_machine());
  const ScalarRegions regions(site);
  for (const ScalarRegion& region : regions.ending_in(graph.outputs()[0])) {
    const auto values = regions.values(region, {-1, 0, 2});
    EXPECT_TRUE(!values || values->size() == 3);
  }
  const Graph shorter = testing::parsed(
      "<ir_version: 8, opset_import: [\"\" : 18]>\n"
      "agraph (float[3] x) => (y) <int64[1] s = {0}, int64[1] e = {1}> {\ny = Slice(x, s, e)\n}");
  EXPECT_EQ(values_of(shorter, ElementType::Float, {-1, 0, 2}), std::nullopt);
}

}  // namespace
}  // namespace isomer
