#include <functional>

#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::operators;
using testing::program;

// A float initializer, number by number.
std::string numbers(const std::string& name, const Extents& shape,
                    const std::function<int(Extents)>& number) {
  std::string out, sizes;
  Extents at(shape.size(), 0);
  for (const std::int64_t n : shape) sizes += (sizes.empty() ? "" : ",") + std::to_string(n);
  for (bool more = true; more;) {
    out += (out.empty() ? "" : ", ") + std::to_string(number(at)) + ".0";
    more = false;
    for (std::size_t d = shape.size(); d-- > 0 && !more;) {
      if (++at[d] < shape[d]) more = true;
      else at[d] = 0;
    }
  }
  return "float[" + sizes + "] " + name + " = {" + out + "}";
}

// Weights as they are: all different.
int dense(const Extents& at) {
  std::int64_t out = 1;
  for (const std::int64_t i : at) out = out * 17 + i;
  return static_cast<int>(out);
}
using Keep = std::function<bool(const Extents&)>;
std::string weights(const Extents& shape, const Keep& keep) {
  return numbers("w", shape, [&](const Extents& at) { return keep(at) ? dense(at) : 0; });
}

std::string rewritten(const std::string& text, std::size_t number = 0) {
  std::string why;
  const auto result = testing::taken(kStructure, program(text), &why, true, number);
  return result ? operators(*result) : "refused: " + why;
}

TEST(Structure, CutsTheZeroBorderOfAKernel) {
  const std::string w =
      weights({4, 4, 5, 5}, [](const Extents& at) { return at[2] < 3 && !(at[2] == 2 && at[3] > 2); });
  EXPECT_EQ(rewritten("agraph (float[b,4,9,9] x) => (float[b,4,9,9] y) <" + w +
                      "> {y = Conv<pads=[2,2,2,2]>(x, w)}"),
            "Conv");
  // More is cut off than was padded.
  EXPECT_EQ(rewritten("agraph (float[b,4,9,9] x) => (float[b,4,8,6] y) <" + w +
                      "> {y = Conv<pads=[2,0,2,1]>(x, w)}"),
            "Conv");
}

TEST(Structure, CutsWhatIsNotPaddedOffTheActivation) {
  const std::string w = weights({4, 4, 8}, [](const Extents& at) { return at[2] >= 2 && at[2] < 5; });
  EXPECT_EQ(rewritten("agraph (float[b,4,40] x) => (float[b,4,33] y) <" + w + "> {y = Conv(x, w)}"),
            "Slice Conv");
  // For a named extent only the padded part.
  EXPECT_EQ(rewritten("agraph (float[b,4,t] x) => (float[b,4,u] y) <" + w + "> {y = Conv<pads=[2,2]>(x, w)}"),
            "Conv");
}

TEST(Structure, SeesHolesAsDilation) {
  const std::string w =
      weights({4, 4, 5, 5}, [](const Extents& at) { return at[2] % 2 == 0 && at[3] % 2 == 0; });
  EXPECT_EQ(rewritten("agraph (float[b,4,9,9] x) => (float[b,4,9,9] y) <" + w +
                      "> {y = Conv<pads=[2,2,2,2], strides=[1,1]>(x, w)}"),
            "Conv");
}

TEST(Structure, LeavesOutChannelsThatAreZero) {
  const std::string w = weights({8, 8, 3, 3}, [](const Extents& at) { return at[0] < 4 && at[1] >= 2; });
  EXPECT_EQ(rewritten("agraph (float[b,8,9,9] x) => (float[b,8,9,9] y) <" + w + ", " +
                      testing::weight("c", "8", 8, 1) + "> {y = Conv<pads=[1,1,1,1]>(x, w, c)}"),
            "Slice Conv Pad Add");
  const std::string m = weights({16, 8}, [](const Extents& at) { return at[0] < 8; });
  EXPECT_EQ(rewritten("agraph (float[b,n,16] x) => (float[b,n,8] y) <" + m + "> {y = MatMul(x, w)}"),
            "Slice MatMul");
}

// Groups whose first or last channels are zero: neither axes to cut, nor windows.
TEST(Structure, LeavesChannelsOfGroups) {
  for (const int groups : {2, 4, 8}) {
    const std::string w =
        weights({8, 8 / groups, 3, 3}, [](const Extents& at) { return at[0] > 1 && at[1] < 1; });
    const Graph graph = program("agraph (float[b,8,9,9] x) => (float[b,8,9,9] y) <" + w +
                                "> {y = Conv<pads=[1,1,1,1], group=" + std::to_string(groups) + ">(x, w)}");
    EXPECT_TRUE(kStructure(graph, *infer(graph), {.any_price = true}).list.empty()) << groups;
  }
}

TEST(Structure, SeesGroups) {
  const std::string w = weights({8, 12, 3, 3}, [](const Extents& at) { return at[0] / 2 == at[1] / 3; });
  EXPECT_EQ(rewritten("agraph (float[b,12,9,9] x) => (float[b,8,9,9] y) <" + w +
                      "> {y = Conv<pads=[1,1,1,1]>(x, w)}"),
            "Conv");
  const std::string t = weights({6, 6, 4, 4}, [](const Extents& at) { return at[0] == at[1]; });
  EXPECT_EQ(rewritten("agraph (float[2,6,9,9] x) => (float[2,6,18,18] y) <" + t +
                      "> {y = ConvTranspose<pads=[1,1,1,1], strides=[2,2]>(x, w)}"),
            "ConvTranspose");
}

TEST(Structure, SeesBlocksAsABatchOfMatrices) {
  const std::string w = weights({12, 8}, [](const Extents& at) { return at[0] / 3 == at[1] / 2; });
  EXPECT_EQ(rewritten("agraph (float[b,5,12] x) => (float[b,5,8] y) <" + w + "> {y = MatMul(x, w)}"),
            "Reshape Transpose MatMul Transpose Reshape");
  EXPECT_EQ(rewritten("agraph (float[b,n,12] x) => (float[b,n,8] y) <" + w + "> {y = MatMul(x, w)}"),
            "Reshape Transpose MatMul Transpose Shape Slice Concat Reshape");
  const std::string t = weights({8, 12}, [](const Extents& at) { return at[0] % 4 == at[1] / 3; });
  EXPECT_EQ(rewritten("agraph (float[b,12] x) => (float[b,8] y) <" + t + ", " +
                      testing::weight("c", "8", 8, 1) + "> {y = Gemm<transB=1>(x, w, c)}"),
            "Reshape Transpose MatMul Transpose Reshape Add");
  EXPECT_EQ(rewritten("agraph (float[2,12,7] x) => (float[2,8,7] y) <" + t + "> {y = MatMul(w, x)}"),
            "Reshape MatMul Transpose Reshape");
}

TEST(Structure, SeesEqualBlocksAsOneMatrix) {
  const std::string w = numbers("w", {12, 8}, [](const Extents& at) {
    return at[0] / 3 == at[1] / 2 ? dense({at[0] % 3, at[1] % 2}) : 0;
  });
  EXPECT_EQ(rewritten("agraph (float[b,n,12] x) => (float[b,n,8] y) <" + w + "> {y = MatMul(x, w)}"),
            "Reshape MatMul Reshape");
}

TEST(Structure, SeesSlicesPermutationsAndLookUps) {
  const auto selected = [](const std::function<std::int64_t(std::int64_t)>& from, std::int64_t n, int scale) {
    const std::string w = numbers("w", {12, n}, [&](const Extents& at) {
      return at[0] == from(at[1]) ? 1 + scale * static_cast<int>(at[1]) : 0;
    });
    return rewritten("agraph (float[b,n,12] x) => (float[b,n,m] y) <" + w + "> {y = MatMul(x, w)}");
  };
  EXPECT_EQ(selected([](std::int64_t n) { return n; }, 12, 1), "Mul");
  EXPECT_EQ(selected([](std::int64_t n) { return n + 3; }, 6, 0), "Slice");
  EXPECT_EQ(selected([](std::int64_t n) { return 11 - n; }, 12, 0), "Slice");
  EXPECT_EQ(selected([](std::int64_t n) { return n % 3 * 4 + n / 3; }, 12, 0), "Reshape Transpose Reshape");
  EXPECT_EQ(selected([](std::int64_t n) { return n * n % 11; }, 6, 0), "Gather");
  EXPECT_EQ(selected([](std::int64_t n) { return n * n % 11; }, 6, 2), "Gather Mul");
}

TEST(Structure, SeesAUnitMatrixAsNothing) {
  const std::string w = numbers("w", {6, 6, 1, 1}, [](const Extents& at) { return at[0] == at[1] ? 1 : 0; });
  EXPECT_EQ(
      rewritten("agraph (float[b,6,5,5] x) => (float[b,6,5,5] y) <" + w + "> {z = Conv(x, w)\ny = Relu(z)}"),
      "Relu");
}

TEST(Structure, LooksUpWhatALargeMatrixSelects) {
  const std::string w =
      numbers("w", {40, 30}, [](const Extents& at) { return at[0] == at[1] * at[1] % 37 ? 1 : 0; });
  EXPECT_EQ(rewritten("agraph (float[b,n,40] x) => (float[b,n,30] y) <" + w + "> {y = MatMul(x, w)}"),
            "Gather");
}

TEST(Structure, AddsUpWhatMeetsEqualRows) {
  const std::string w = numbers("w", {12, 4}, [](const Extents& at) { return dense({at[0] / 3, at[1]}); });
  EXPECT_EQ(rewritten("agraph (float[b,n,12] x) => (float[b,n,4] y) <" + w + "> {y = MatMul(x, w)}"),
            "Reshape ReduceSum Reshape MatMul");
}

TEST(Structure, ComputesEqualColumnsOnce) {
  const std::string w = numbers("w", {6, 12}, [](const Extents& at) { return dense({at[0], at[1] % 4}); });
  EXPECT_EQ(rewritten("agraph (float[b,n,6] x) => (float[b,n,12] y) <" + w + "> {y = MatMul(x, w)}"),
            "MatMul Tile");
  const std::string heads =
      numbers("w", {6, 12}, [](const Extents& at) { return dense({at[0], at[1] / 6 * 2 + at[1] % 2}); });
  EXPECT_EQ(rewritten("agraph (float[b,n,6] x) => (float[b,n,12] y) <" + heads + "> {y = MatMul(x, w)}"),
            "MatMul Reshape Tile Reshape");
}

TEST(Structure, SeesRunningSumsAndBands) {
  const std::string sums = numbers("w", {8, 8}, [](const Extents& at) { return at[0] <= at[1] ? 1 : 0; });
  EXPECT_EQ(rewritten("agraph (float[b,n,8] x) => (float[b,n,8] y) <" + sums + "> {y = MatMul(x, w)}"),
            "CumSum");
  const std::string band = numbers("w", {10, 10}, [](const Extents& at) {
    const std::int64_t d = at[0] - at[1] + 1;
    return d >= 0 && d < 3 ? static_cast<int>(d) + 1 : 0;
  });
  EXPECT_EQ(rewritten("agraph (float[b,4,10] x) => (float[b,4,10] y) <" + band + "> {y = MatMul(x, w)}"),
            "Reshape Conv Reshape");
}

TEST(Structure, SeesEvenKernelsAsMeans) {
  const std::string w = numbers("w", {4, 4, 3, 3}, [](const Extents& at) { return dense({at[0], at[1]}); });
  EXPECT_EQ(rewritten("agraph (float[b,4,9,9] x) => (float[b,4,9,9] y) <" + w +
                      "> {y = Conv<pads=[1,1,1,1]>(x, w)}"),
            "AveragePool Conv");
}

TEST(Structure, SeesProductsAsRowsAndColumns) {
  const std::string w = numbers("w", {4, 1, 3, 3}, [](const Extents& at) {
    const int u[] = {1, 2, 1}, v[] = {1, 2, -1};
    return u[at[2]] * v[at[3]];
  });
  EXPECT_EQ(rewritten("agraph (float[b,4,9,9] x) => (float[b,4,9,9] y) <" + w +
                      "> {y = Conv<pads=[1,1,1,1], group=4>(x, w)}"),
            "Conv Conv");
}

TEST(Structure, SeesKernelsOfOneNumberAsMovement) {
  // What a RealNVP calls its squeeze: pixels become channels.
  const std::string squeeze = numbers("w", {16, 4, 2, 2}, [](const Extents& at) {
    const std::int64_t tap[] = {0, 3, 1, 2};
    return at[1] == at[0] % 4 && at[2] * 2 + at[3] == tap[at[0] / 4] ? 1 : 0;
  });
  EXPECT_EQ(rewritten("agraph (float[b,4,6,8] x) => (float[b,16,3,4] y) <" + squeeze +
                      "> {y = Conv<strides=[2,2]>(x, w)}"),
            "SpaceToDepth Slice Slice Slice Slice Concat");
  // Channels that move by a pixel each, to one side or the other.
  const std::string moved =
      numbers("w", {6, 1, 3}, [](const Extents& at) { return at[2] == (at[0] < 3 ? 0 : 2) ? 1 : 0; });
  EXPECT_EQ(rewritten("agraph (float[b,6,20] x) => (float[b,6,20] y) <" + moved +
                      ", float[6] o = {1, 2, 3, 4, 5, 6}> {y = Conv<pads=[1,1], group=6>(x, w, o)}"),
            "Pad Slice Slice Concat Add");
}

TEST(Structure, ComputesNoChannelsThatAreZeroOrUnread) {
  const std::string v =
      weights({6, 4, 3, 3}, [](const Extents& at) { return at[0] != 1 && at[0] != 2 && at[0] != 4; });
  const std::string u = numbers("u", {5, 6, 1, 1}, dense);
  const std::string after = "r = Relu(c)\ns = Sigmoid(c)\nz = Mul(r, s)\ny = Conv(z, u)}";
  EXPECT_EQ(rewritten("agraph (float[b,4,8,8] x) => (float[b,5,8,8] y) <" + v + ", " + u +
                      ", float[6] o = {1, 0, 0, 2, 0, 1}> {c = Conv<pads=[1,1,1,1]>(x, w, o)\n" + after),
            "Conv Relu Sigmoid Mul Conv");
  // A shift makes something of nothing.
  EXPECT_EQ(rewritten("agraph (float[b,4,8,8] x) => (float[b,5,8,8] y) <" + v + ", " + u +
                      ", float[6] o = {1, 4, 1, 2, 3, 1}> {c = Conv<pads=[1,1,1,1]>(x, w, o)\n" + after),
            "refused: ");
  // The last half is not read.
  const std::string t = numbers("t", {4, 6}, dense);
  const std::string few = weights({6, 5}, [](const Extents& at) { return at[0] < 3; });
  EXPECT_EQ(rewritten("agraph (float[b,7,4] x) => (float[b,7,5] y) <" + t + ", " + few +
                          ", float[6] o = {1, 4, 1, 2, 3, 1}> {a = MatMul(x, t)\nc = Add(a, o)\ne = Exp(c)\n"
                          "y = MatMul(e, w)}",
                      1),
            "MatMul Add Exp MatMul");
}

TEST(Structure, IsNotBelievedWithoutTheBytes) {
  const std::string w = weights({12, 8}, [](const Extents& at) { return at[0] / 3 == at[1] / 2; });
  const Graph graph = program("agraph (float[b,5,12] x) => (float[b,5,8] y) <" + w + "> {y = MatMul(x, w)}");
  const auto inference = infer(graph);
  const auto proposals = kStructure(graph, *inference, {.any_price = true}).list;
  ASSERT_FALSE(proposals.empty());
  const Claim& claim = proposals[0].claim;
  EXPECT_TRUE(std::holds_alternative<Graph>(prove_claim(graph, claim)));
  Claim silent = claim;
  silent.facts.clear();
  EXPECT_FALSE(std::holds_alternative<Graph>(prove_claim(graph, silent)));
  // One number beside the blocks.
  const std::string other = weights(
      {12, 8}, [](const Extents& at) { return at[0] / 3 == at[1] / 2 || (at[0] == 0 && at[1] == 7); });
  const auto refused = prove_claim(
      program("agraph (float[b,5,12] x) => (float[b,5,8] y) <" + other + "> {y = MatMul(x, w)}"), claim);
  ASSERT_TRUE(std::holds_alternative<std::string>(refused));
  EXPECT_EQ(std::get<std::string>(refused), "w: its program computes other numbers");
}

}  // namespace
}  // namespace isomer
