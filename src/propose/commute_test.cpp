#include "propose/testing.h"

namespace isomer {
namespace {

using testing::integers;
using testing::operators;
using testing::program;
using testing::weight;

std::string moved(const std::string& text, std::string* why = nullptr) {
  const auto result = testing::taken(propose_commute, program(text), why, true);
  return result ? operators(*result) : "";
}

TEST(Commute, LastPositionIsTakenBeforeNormalisationResidualAndProducts) {
  EXPECT_EQ(moved("agraph (float[N,8,4] x) => (float[N,1,6] y) <" + weight("w", "4,4", 16, 1) + ", " +
                  weight("v", "4,6", 24, 2) + ", " + weight("s", "4", 4, 3) + ", " + integers("last", {7}) +
                  "> {\nn = LayerNormalization(x, s)\na = MatMul(n, w)\nt = Tanh(a)\nr = Add(x, t)\n"
                  "l = MatMul(r, v)\ny = Gather<axis=1>(l, last)}"),
            "Gather LayerNormalization MatMul Tanh Add MatMul");
}

TEST(Commute, StopsWhereAValueIsNeededWhole) {
  EXPECT_EQ(moved("agraph (float[1,8,4] x) => (float[1,1,4] y, float[1,8,4] t) <" +
                  weight("w", "4,4", 16, 1) + ", " + integers("first", {0}) +
                  "> {\nt = Tanh(x)\na = MatMul(t, w)\ny = Gather<axis=1>(a, first)}"),
            "Tanh Gather MatMul");
}

TEST(Commute, QueryRowsOfAttention) {
  EXPECT_EQ(moved("agraph (float[1,2,8,4] q, float[1,2,4,8] k, float[1,2,8,4] v) => (float[1,2,1,4] y) <" +
                  integers("first", {0}) +
                  "> {\na = MatMul(q, k)\ns = Softmax(a)\no = MatMul(s, v)\ny = Gather<axis=2>(o, first)}"),
            "Gather MatMul Softmax MatMul");
}

TEST(Commute, SoftmaxOverTheSlicedAxisIsInTheWay) {
  EXPECT_EQ(moved("agraph (float[4,8] x) => (float[4,1] y) <" + integers("first", {0}) +
                  "> {\ns = Softmax(x)\ny = Gather<axis=1>(s, first)}"),
            "");
}

TEST(Commute, ChannelsThatNobodyReadsAreNotComputed) {
  EXPECT_EQ(moved("agraph (float[1,2,6,6] x) => (float[1,2,6,6] y) <" + weight("w", "4,2,3,3", 72, 1) + ", " +
                  weight("b", "4", 4, 2) + ", " + integers("from", {1}) + ", " + integers("to", {3}) + ", " +
                  integers("ax", {1}) +
                  "> {\nc = Conv<pads=[1,1,1,1]>(x, w, b)\nr = Relu(c)\ny = Slice(r, from, to, ax)}"),
            "Conv Relu");
}

TEST(Commute, StrideGoesIntoTheConvolution) {
  EXPECT_EQ(moved("agraph (float[1,2,9,9] x) => (float[1,4,5,5] y) <" + weight("w", "4,2,3,3", 72, 1) +
                  "> {\nc = Conv<pads=[1,1,1,1]>(x, w)\nr = Relu(c)\n"
                  "y = MaxPool<kernel_shape=[1,1], strides=[2,2]>(r)}"),
            "Conv Relu");
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

}  // namespace
}  // namespace isomer
