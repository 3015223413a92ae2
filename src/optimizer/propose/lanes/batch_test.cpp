#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::integers;
using testing::operators;
using testing::program;
using testing::weight;

std::string batched(const std::string& text, std::size_t number = 0) {
  std::string reason;
  const auto result = testing::taken(kBatch, program(text), &reason, true, number);
  return result ? operators(*result) : reason;
}

std::string scalar(const std::string& name, int value) {
  return "int64 " + name + " = {" + std::to_string(value) + "}";
}

TEST(Batch, PartsOfASplitThroughOneLayerAreNotCopied) {
  EXPECT_EQ(batched("agraph (float[N,4,6] x) => (float[N,4,5] y) <" + weight("w", "6,5", 30, 1) +
                    "> {\na, b = Split<axis=1, num_outputs=2>(x)\nc = MatMul(a, w)\nd = MatMul(b, w)\n"
                    "e = Tanh(c)\nf = Tanh(d)\ny = Concat<axis=1>(e, f)}"),
            "MatMul Tanh");
}

TEST(Batch, ConvolutionsOfSlicesOfChannelsAreGroups) {
  EXPECT_EQ(
      batched("agraph (float[N,4,5,5] x) => (float[N,6,5,5] y) <" + weight("v", "3,2,3,3", 54, 1) + ", " +
              weight("w", "3,2,3,3", 54, 2) + ", " + weight("b", "3", 3, 3) + ", " + weight("c", "3", 3, 4) +
              "> {\np, q = Split<axis=1, num_outputs=2>(x)\nr = Conv<pads=[1,1,1,1]>(p, v, b)\n"
              "s = Conv<pads=[1,1,1,1]>(q, w, c)\nt = Relu(r)\nu = Relu(s)\ny = Concat<axis=1>(t, u)}"),
      "Conv Relu");
}

TEST(Batch, StepsOfASequenceThroughAGemm) {
  EXPECT_EQ(batched("agraph (float[N,2,6] x) => (float[N,2,5] y) <" + weight("w", "6,5", 30, 1) + ", " +
                    weight("b", "5", 5, 2) + ", " + scalar("zero", 0) + ", " + scalar("one", 1) + ", " +
                    integers("ax", {1}) +
                    "> {\np = Gather<axis=1>(x, zero)\nq = Gather<axis=1>(x, one)\nr = Gemm(p, w, b)\n"
                    "s = Gemm(q, w, b)\nt = Unsqueeze(r, ax)\nu = Unsqueeze(s, ax)\n"
                    "y = Concat<axis=1>(t, u)}"),
            "MatMul Add Unsqueeze Reshape");
}

TEST(Batch, ExpertsWithWeightsOfTheirOwnAndASum) {
  EXPECT_EQ(
      batched("agraph (float[N,3] x) => (float[N,2] y) <" + weight("a", "3,4", 12, 1) + ", " +
                  weight("b", "3,4", 12, 2) + ", " + weight("c", "4,2", 8, 3) + ", " +
                  weight("d", "4,2", 8, 4) +
                  "> {\np = MatMul(x, a)\nq = MatMul(x, b)\nr = Relu(p)\ns = Relu(q)\nt = MatMul(r, c)\n"
                  "u = MatMul(s, d)\ny = Add(t, u)}",
              1),
      "MatMul Relu MatMul ReduceSum");
}

TEST(Batch, SeparateInputsWithTheSameWeightsAreReadSeparately) {
  EXPECT_EQ(batched("agraph (float[2,3] x, float[2,3] y) => (float[2,4] p, float[2,4] q) <" +
                    weight("w", "3,4", 12, 1) +
                    "> {\na = MatMul(x, w)\nb = MatMul(y, w)\np = Tanh(a)\nq = Tanh(b)}"),
            "Concat MatMul Tanh Split");
}

TEST(Batch, StepsThatDependOnEachOtherStayApart) {
  EXPECT_EQ(batched("agraph (float[1,3] x) => (float[1,6] y) <" + weight("w", "3,3", 9, 1) +
                    "> {\na = MatMul(x, w)\nb = Tanh(a)\nc = MatMul(b, w)\nd = Tanh(c)\n"
                    "y = Concat<axis=1>(b, d)}"),
            "");
}

TEST(Batch, LanesOfDifferentShapesStayApart) {
  EXPECT_EQ(batched("agraph (float[N,3] x, float[M,3] y) => (float[N,4] p, float[M,4] q) <" +
                    weight("w", "3,4", 12, 1) + "> {\np = MatMul(x, w)\nq = MatMul(y, w)}"),
            "");
}

}  // namespace
}  // namespace isomer
