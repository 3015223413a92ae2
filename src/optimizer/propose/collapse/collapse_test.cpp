#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::integers;
using testing::operators;
using testing::program;
using testing::weight;

std::optional<Graph> collapsed(const Graph& graph, std::string* why = nullptr) {
  return testing::taken(kCollapse, graph, why);
}

TEST(Collapse, ThreeBranchesAreOneConvolution) {
  const Graph graph =
      program("agraph (float[N,4,9,9] x) => (float[N,4,9,9] y) <" + weight("w", "4,4,3,3", 144, 1) + ", " +
              weight("v", "4,4,1,1", 16, 2) + "> {\n" +
              "a = Conv<pads=[1,1,1,1]>(x, w)\nb = Conv(x, v)\nc = Add(a, b)\nd = Add(c, x)\ny = Relu(d)}");
  const auto result = collapsed(graph);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->operator_count(), 2u);
}

TEST(Collapse, SlicesThenConvolutionAreOneStridedConvolution) {
  const std::string ints =
      "int64[1] zero = {0}, int64[1] one = {1}, int64[1] end = {100}, int64[1] two = {2}, int64[1] ax = {2}";
  const Graph graph = program(
      "agraph (float[1,2,12] x) => (float[1,3,6] y) <" + weight("w", "3,4,3", 36, 3) + ", " + ints + "> {\n" +
      "a = Slice(x, zero, end, ax, two)\nb = Slice(x, one, end, ax, two)\nc = Concat<axis=1>(a, b)\n"
      "y = Conv<pads=[1,1]>(c, w)}");
  const auto result = collapsed(graph);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->operator_count(), 1u);
}

TEST(Collapse, PaddedConvolutionsInARowDifferAtTheBorder) {
  const Graph graph = program("agraph (float[1,3,12] x) => (float[1,3,12] y) <" +
                              weight("w", "8,3,3", 72, 1) + ", " + weight("v", "3,8,3", 72, 2) + "> {\n" +
                              "a = Conv<pads=[1,1]>(x, w)\ny = Conv<pads=[1,1]>(a, v)}");
  EXPECT_FALSE(collapsed(graph).has_value());
}

TEST(Collapse, AnswersForRegionsOfOneNumber) {
  // An output without axes has no digits to look at the last of.
  const Graph sum =
      program("agraph (float x) => (float y) <float k = {0.5}> {\na = Add(x, x)\ny = Add(a, k)}");
  EXPECT_LE(collapsed(sum).value_or(sum).operator_count(), 2u);
  const Graph reduced = program(
      "agraph (float[3] x) => (float y) <float k = {0.5}> {\na = ReduceSum<keepdims=0>(x)\n"
      "b = Mul(a, k)\ny = Add(b, k)}");
  EXPECT_LE(collapsed(reduced).value_or(reduced).operator_count(), 3u);
}

TEST(Collapse, LeavesLowRankPairsAlone) {
  const Graph graph = program("agraph (float[64,32] x) => (float[64,32] y) <" + weight("u", "32,2", 64, 1) +
                              ", " + weight("v", "2,32", 64, 2) + "> {\nt = MatMul(x, u)\ny = MatMul(t, v)}");
  EXPECT_FALSE(collapsed(graph).has_value());
}

std::string collapsed_text(const std::string& text, std::string* why = nullptr) {
  const auto result = collapsed(program(text), why);
  return result ? operators(*result) : "";
}

TEST(Collapse, AShiftBeforePaddingStaysOrIsAConstantMap) {
  const Graph graph =
      program("agraph (float[N,3,20,20] x) => (float[N,4,20,20] y) <" + weight("m", "3,1,1", 3, 1) + ", " +
              weight("s", "3,1,1", 3, 2) + ", " + weight("w", "4,3,3,3", 108, 3) +
              "> {\na = Sub(x, m)\nb = Div(a, s)\nc = Mul(b, s)\nd = Div(c, s)\n"
              "y = Conv<pads=[1,1,1,1]>(d, w)}");
  std::set<std::string> found;
  for (const std::size_t k : {0, 1})
    if (const auto result = testing::taken(kCollapse, graph, nullptr, false, k))
      found.insert(operators(*result));
  EXPECT_EQ(found, (std::set<std::string>{"Conv Add", "Sub Conv"}));
}

TEST(Collapse, AShiftWithoutPaddingIsABias) {
  EXPECT_EQ(
      collapsed_text("agraph (float[N,3,12,12] x) => (float[N,4,10,10] y) <" + weight("m", "3,1,1", 3, 1) +
                     ", " + weight("w", "4,3,3,3", 108, 3) + "> {\na = Sub(x, m)\ny = Conv(a, w)}"),
      "Conv");
}

TEST(Collapse, PatchesByReshapeAndTransposeAreAStridedConvolution) {
  EXPECT_EQ(collapsed_text("agraph (float[N,3,32,32] x) => (float[N,64,6] y) <" +
                           integers("a", {-1, 3, 8, 4, 8, 4}) + ", " + integers("b", {-1, 64, 48}) + ", " +
                           weight("w", "48,6", 288, 1) +
                           "> {\nr = Reshape(x, a)\nt = Transpose<perm=[0,2,4,3,5,1]>(r)\ns = Reshape(t, b)\n"
                           "y = MatMul(s, w)}"),
            "Conv Transpose Reshape");
}

TEST(Collapse, FramesSplicedAreAConvolution) {
  EXPECT_EQ(
      collapsed_text("agraph (float[N,40,16] x) => (float[N,38,8] y) <" + integers("o", {0}) + ", " +
                     integers("i", {1}) + ", " + integers("j", {2}) + ", " + integers("k", {-1}) + ", " +
                     integers("l", {-2}) + ", " + integers("e", {9999}) + ", " + weight("w", "48,8", 384, 1) +
                     "> {\na = Slice(x, o, l, i)\nb = Slice(x, i, k, i)\nc = Slice(x, j, e, i)\n"
                     "d = Concat<axis=2>(a, b, c)\ny = MatMul(d, w)}"),
      "Transpose Conv Transpose");
}

TEST(Collapse, ARecurrenceWithConstantFactorsAlongAnAxisIsOneProduct) {
  std::string nodes = "s0, s1, s2, s3, s4, s5 = Split<axis=1, num_outputs=6>(x)\nh0 = Identity(s0)\n",
              all = "h0";
  for (int i = 1; i < 6; ++i) {
    const std::string k = std::to_string(i), before = std::to_string(i - 1);
    nodes += "a" + k + " = Mul(s" + k + ", p)\nb" + k + " = Mul(h" + before + ", q)\nh" + k + " = Add(a" + k +
             ", b" + k + ")\n";
    all += ", h" + k;
  }
  EXPECT_EQ(collapsed_text(
                "agraph (float[N,6,8] x) => (float[N,6,8] y) <float[1] p = {0.5}, float[1] q = {0.25}> {\n" +
                nodes + "y = Concat<axis=1>(" + all + ")}"),
            "Conv");
}

// Edges of a graph that does not change, their ends repeated for each channel as an exporter writes them.
TEST(Collapse, SumsAlongConstantEdgesAreOneProduct) {
  EXPECT_EQ(
      collapsed_text("agraph (float[5,2] x) => (float[5,2] y) <" +
                     integers("from", {0, 2, 4, 4, 1, 3, 3, 0, 2, 1, 1, 0, 4, 2, 3, 3, 1, 0}) +
                     ", int64[18,2] to = {1,1, 0,0, 3,3, 1,1, 2,2, 4,4, 0,0, 2,2, 2,2, 3,3, 0,0, 4,4, 1,1, "
                     "3,3, 0,0, 2,2, 1,1, 4,4}, " +
                     weight("w", "18,1", 18, 1) +
                     ", float[5,2] z = {0,0,0,0,0,0,0,0,0,0}> {\ng = Gather(x, from)\nm = Mul(g, w)\n"
                     "y = ScatterElements<axis=0, reduction=\"add\">(z, to, m)}"),
      "MatMul");
}

TEST(Collapse, ScalesAndShiftsAreOneOfEach) {
  EXPECT_EQ(collapsed_text("agraph (float[N,4,6] x) => (float[N,4,6] y) <" + weight("s", "4,1", 4, 1) + ", " +
                           weight("t", "4,1", 4, 2) + ", " + weight("u", "1", 1, 3) +
                           "> {\na = Mul(x, s)\nb = Add(a, t)\nc = Mul(b, u)\ny = Sub(c, t)}"),
            "Mul Add");
}

TEST(Collapse, LeavesConstantsThatCancel) {
  EXPECT_EQ(collapsed_text("agraph (float[2,3] x) => (float[2,3] y) <float k = {1e8}, float s = {3}> "
                           "{\na = Add(x, k)\nb = Sub(a, k)\ny = Mul(b, s)}"),
            "");
  EXPECT_EQ(collapsed_text("agraph (float[2,3] x) => (float[2,3] y) <float k = {1e30}, float l = {1e-30}> "
                           "{\na = Mul(x, k)\ny = Mul(a, l)}"),
            "");
}

TEST(Collapse, AWindowOfMoreThanHalfOfTheImageIsOneConvolution) {
  EXPECT_EQ(collapsed_text("agraph (float[1,4,13] x) => (float[1,4,3] y) <" + weight("w", "4,4,3", 48, 1) +
                           ", " + weight("v", "4,4,9", 144, 2) + ", " + weight("b", "4,1", 4, 3) +
                           "> {\na = Conv(x, w)\nc = Add(a, b)\nd = Conv(c, v)\ny = Add(d, b)}"),
            "Conv");
}

TEST(Collapse, LeavesWeightsOfFewBitsAlone) {
  std::string bytes;
  for (int i = 0; i < 16 * 8; ++i) bytes += (i ? ", " : "") + std::to_string(i * 37 % 256);
  const Graph graph = testing::parsed(
      "<ir_version: 8, opset_import: [\"\" : 18, \"com.microsoft\" : 1]>\nagraph (float[4,16] x) => "
      "(float[4,16] y) "
      "<uint8[16,1,8] q = {" +
      bytes + "}, " + weight("s", "16", 16, 1) + ", " + weight("b", "16", 16, 2) +
      "> {\na = com.microsoft.MatMulNBits<K=16, N=16, bits=4, block_size=16>(x, q, s)\nc = Mul(a, b)\ny = "
      "Add(c, b)}");
  const auto inference = infer(graph);
  ASSERT_TRUE(inference.ok());
  for (const Proposal& p : kCollapse(graph, *inference, {.any_price = true}).list) {
    const auto after = prove_claim(graph, p.claim);
    ASSERT_TRUE(std::holds_alternative<Graph>(after));
    EXPECT_TRUE(operators(std::get<Graph>(after)).starts_with("MatMulNBits ")) << p.what;
  }
}

TEST(Collapse, TriesThePartsOfARegionThatIsNotOneConvolution) {
  // Both convolutions together differ at the border from one; the first one and its scale do not.
  EXPECT_EQ(collapsed_text("agraph (float[1,3,12] x) => (float[1,3,12] y) <" + weight("w", "3,3,3", 27, 1) +
                           ", " + weight("v", "3,3,3", 27, 2) + ", " + weight("s", "3,1", 3, 2) +
                           "> {\na = Conv<pads=[1,1]>(x, w)\nb = Mul(a, s)\ny = Conv<pads=[1,1]>(b, v)}"),
            "Conv Conv");
}

}  // namespace
}  // namespace isomer
