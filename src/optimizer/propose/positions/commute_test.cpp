#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::integers;
using testing::operators;
using testing::program;
using testing::weight;

std::string moved(const std::string& text, std::string* why = nullptr) {
  const auto result = testing::taken(kCommute, program(text), why, true);
  return result ? operators(*result) : "";
}

TEST(Commute, MeanGoesBeforeTheProductAndNotBeforeTheFunction) {
  EXPECT_EQ(moved("agraph (float[2,9,4] x) => (float[2,6] y) <" + weight("w", "4,6", 24, 1) + ", " +
                  weight("b", "6", 6, 2) + ", " + integers("ax", {1}) +
                  "> {\nt = Tanh(x)\nm = MatMul(t, w)\na = Add(m, b)\ny = ReduceMean<keepdims=0>(a, ax)}"),
            "Tanh ReduceMean MatMul Add Squeeze");
}

TEST(Commute, PoolAndPointwiseConvolutionSwap) {
  EXPECT_EQ(moved("agraph (float[1,3,8,8] x) => (float[1,4,4,4] y) <" + weight("w", "4,3,1,1", 12, 1) +
                  "> {\nc = Conv(x, w)\ny = AveragePool<kernel_shape=[2,2], strides=[2,2]>(c)}"),
            "AveragePool Conv");
}

TEST(Commute, UpsamplingGoesAfterThePointwiseConvolution) {
  const std::string text = "agraph (float[1,8,4,4] x) => (float[1,2,8,8] y) <" +
                           weight("w", "2,8,1,1", 16, 1) + ", " + weight("b", "2", 2, 1) +
                           ", float[4] scales = {1.0, 1.0, 2.0, 2.0}> {\nu = Resize<mode=\"linear\">(x, , "
                           "scales)\ny = Conv(u, w, b)}";
  EXPECT_EQ(moved(text), "Conv Resize");
}

TEST(Commute, FunctionsOfWhatIsThereTwiceAreComputedOnce) {
  // Rotary positions, at any length; two functions, and the second half moved with the heads' axis.
  const std::string head =
      "agraph (float[1,n,4] x, float[1,2,n,8] q) => (float[1,2,n,8] y, float[1,n,8] z) <" +
      integers("one", {1}) + "> {\nt = Concat<axis=-1>(x, x)\nc = Cos(t)\n";
  EXPECT_EQ(moved(head + "u = Unsqueeze(c, one)\ny = Mul(q, u)\nz = Sin(t)}"),
            "Cos Unsqueeze Concat Mul Sin Concat");
  // Not where the halves are told apart, or something else is between them.
  EXPECT_EQ(moved("agraph (float[3,4] x) => (float[3,8] y) {\nt = Concat<axis=1>(x, x)\n"
                  "y = Softmax<axis=1>(t)}"),
            "");
  EXPECT_EQ(moved("agraph (float[3,4] x, float[3,4] z) => (float[3,12] y) {\nt = Concat<axis=1>(x, z, x)\n"
                  "y = Cos(t)}"),
            "");
}

}  // namespace
}  // namespace isomer
