#include "optimizer/facts/region_reads.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/graph/testing.h"

namespace isomer {
namespace {

// The map of all of a graph of one input.
std::optional<RegionMap> map_of_text(const std::string& text) {
  const Graph graph = testing::parsed("<ir_version: 8, opset_import: [\"\" : 18]>\n" + text);
  const auto inference = infer(graph);
  EXPECT_TRUE(inference.ok());
  const LinearRegions regions(graph, *inference);
  const auto found = regions.ending_in(graph.outputs()[0]);
  EXPECT_FALSE(found.empty());
  if (found.empty()) return std::nullopt;
  EXPECT_EQ(found[0].input, graph.inputs()[0]);
  return map_of(graph, *inference, found[0]);
}

std::string zeros(int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += i ? ", 0.5" : "0.5";
  return "{" + out + "}";
}

using Kind = InputAxis::Kind;

TEST(RegionReads, PatchesByReshapeAndTransposeAreWindowsOfTheSplitAxis) {
  const auto map = map_of_text(
      "agraph (float[N,3,8,12] x) => (float[N,6,5] y) <int64[6] a = {-1,3,2,4,3,4}, int64[3] b = {-1,6,48}, "
      "float[48,5] w = " +
      zeros(240) +
      "> {\nr = Reshape(x, a)\nt = Transpose<perm=[0,2,4,1,3,5]>(r)\ns = Reshape(t, b)\ny = MatMul(s, w)}");
  ASSERT_TRUE(map.has_value());
  EXPECT_EQ(map->inputs[0].kind, Kind::Parallel);
  EXPECT_EQ(map->inputs[1].kind, Kind::Full);
  for (const std::size_t d : {2, 3}) {
    EXPECT_EQ(map->inputs[d].kind, Kind::Window);
    EXPECT_EQ(map->inputs[d].stride, 4);
    EXPECT_EQ(map->inputs[d].low, 0);
    EXPECT_EQ(map->inputs[d].high, 3);
  }
  ASSERT_EQ(map->outputs.size(), 4u);  // N, 2 and 3, 5
  EXPECT_EQ(map->outputs[1].axis, 1u);
  EXPECT_EQ(map->outputs[2].axis, 1u);
  EXPECT_TRUE(map->outputs[1].extent.is(2));
}

TEST(RegionReads, StackedSlicesOfAnyLengthAreOneWindow) {
  const auto map = map_of_text(
      "agraph (float[N,T,4] x) => (float[N,S,3] y) <int64[1] o = {0}, int64[1] i = {1}, int64[1] j = {-1}, "
      "int64[1] e = {9999}, float[8,3] w = " +
      zeros(24) +
      "> {\na = Slice(x, o, j, i)\nb = Slice(x, i, e, i)\nc = Concat<axis=2>(a, b)\ny = MatMul(c, w)}");
  ASSERT_TRUE(map.has_value());
  EXPECT_EQ(map->inputs[1].kind, Kind::Window);
  EXPECT_EQ(map->inputs[1].low, 0);
  EXPECT_EQ(map->inputs[1].high, 1);
  EXPECT_EQ(map->inputs[2].kind, Kind::Full);
}

TEST(RegionReads, DilationIsWhatAllTapsHaveInCommon) {
  const auto map =
      map_of_text("agraph (float[1,2,32] x) => (float[1,2,32] y) <float[2,2,3] w = " + zeros(12) +
                  ", float[1] s = {2}> {\nc = Conv<dilations=[4], pads=[4,4]>(x, w)\ny = Mul(c, s)}");
  ASSERT_TRUE(map.has_value());
  EXPECT_EQ(map->inputs[2].dilation, 4);
  EXPECT_EQ(map->inputs[2].low, -4);
  EXPECT_EQ(map->inputs[2].high, 4);
}

TEST(RegionReads, WeightsTellParallelAxesFromGroups) {
  for (const bool are_equal : {false, true}) {
    const auto map = map_of_text(fmt::format(
        "agraph (float[N,4,6] x) => (float[N,4,6] y) <float[4,1] s = {{3, 3, 3, {}}}, float[1] t = {{2}}> "
        "{{\na = Mul(x, s)\ny = Mul(a, t)}}",
        are_equal ? 3 : 4));
    ASSERT_TRUE(map.has_value());
    EXPECT_FALSE(map->inputs[0].weighted);
    EXPECT_EQ(map->inputs[1].weighted, !are_equal);
    EXPECT_FALSE(map->inputs[2].weighted);
  }
}

TEST(RegionReads, EqualPartsOneAfterTheOtherAreADigit) {
  const auto map = map_of_text(
      "agraph (float[N,3,6] x) => (float[N,6,6] y) <float[1] s = {2}, float[1] t = {3}> {\na = Mul(x, s)\n"
      "b = Mul(x, t)\ny = Concat<axis=1>(a, b)}");
  ASSERT_TRUE(map.has_value());
  EXPECT_EQ(map->inputs[1].kind, Kind::Parallel);
  EXPECT_EQ(map->outputs.size(), 4u);
}

}  // namespace
}  // namespace isomer
