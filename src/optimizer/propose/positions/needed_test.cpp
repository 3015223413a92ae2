#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::integers;
using testing::operators;
using testing::program;
using testing::weight;

std::string cut(const std::string& text, std::string* why = nullptr) {
  std::string reason;
  const auto result = testing::taken(kNeeded, program(text), why ? why : &reason, true);
  return result ? operators(*result) : reason;
}

TEST(Needed, LastPositionIsTakenBeforeNormalisationResidualAndProducts) {
  EXPECT_EQ(cut("agraph (float[N,8,4] x) => (float[N,1,6] y) <" + weight("w", "4,4", 16, 1) + ", " +
                weight("v", "4,6", 24, 2) + ", " + weight("s", "4", 4, 3) + ", " + integers("last", {7}) +
                "> {\nn = LayerNormalization(x, s)\na = MatMul(n, w)\nt = Tanh(a)\nr = Add(x, t)\n"
                "l = MatMul(r, v)\ny = Gather<axis=1>(l, last)}"),
            "Slice LayerNormalization MatMul Tanh Add MatMul");
}

TEST(Needed, SlicesOfOldModelsHaveNoSteps) {
  const auto model = testing::parsed(
      "<ir_version: 8, opset_import: [\"\" : 9]>\nagraph (float[1,2,12] x) => "
      "(float[1,2,3] y) <" +
      weight("w", "2,2,3", 12, 1) +
      "> {\nc = Conv<pads=[2,0]>(x, w)\nr = Relu(c)\n"
      "y = Slice<starts=[9], ends=[12], axes=[2]>(r)}");
  std::string why;
  const auto result = testing::taken(kNeeded, model, &why, true);
  ASSERT_TRUE(result) << why;
  EXPECT_EQ(operators(*result), "Slice Conv Relu");
}

TEST(Needed, LastPositionOfAnAxisWhoseExtentHasAName) {
  EXPECT_EQ(cut("agraph (float[B,N,4] x) => (float[B,4] y) <" + weight("w", "4,4", 16, 1) + ", " +
                weight("s", "4", 4, 3) + ", int64 last = {-1}> {\nn = LayerNormalization(x, s)\n" +
                "a = MatMul(n, w)\nt = Tanh(a)\nr = Add(x, t)\nm = LayerNormalization(r, s)\n"
                "y = Gather<axis=1>(m, last)}"),
            "Gather LayerNormalization MatMul Tanh Add LayerNormalization Squeeze");
}

TEST(Needed, StopsWhereAValueIsNeededWhole) {
  EXPECT_EQ(
      cut("agraph (float[1,8,4] x) => (float[1,1,4] y, float[1,8,4] t) <" + weight("w", "4,4", 16, 1) + ", " +
          integers("first", {0}) + "> {\nt = Tanh(x)\na = MatMul(t, w)\ny = Gather<axis=1>(a, first)}"),
      "Tanh Slice MatMul");
}

TEST(Needed, QueryRowsOfAttention) {
  EXPECT_EQ(cut("agraph (float[1,2,8,4] q, float[1,2,4,8] k, float[1,2,8,4] v) => (float[1,2,1,4] y) <" +
                integers("first", {0}) +
                "> {\na = MatMul(q, k)\ns = Softmax(a)\no = MatMul(s, v)\ny = Gather<axis=2>(o, first)}"),
            "Slice MatMul Softmax MatMul");
}

TEST(Needed, SoftmaxOverTheSlicedAxisIsInTheWay) {
  EXPECT_EQ(cut("agraph (float[4,8] x) => (float[4,1] y) <" + integers("first", {0}) +
                "> {\ns = Softmax(x)\ny = Gather<axis=1>(s, first)}"),
            "");
}

TEST(Needed, ChannelsThatNobodyReadsAreNotComputed) {
  EXPECT_EQ(cut("agraph (float[1,2,6,6] x) => (float[1,2,6,6] y) <" + weight("w", "4,2,3,3", 72, 1) + ", " +
                weight("b", "4", 4, 2) + ", " + integers("from", {1}) + ", " + integers("to", {3}) + ", " +
                integers("ax", {1}) +
                "> {\nc = Conv<pads=[1,1,1,1]>(x, w, b)\nr = Relu(c)\ny = Slice(r, from, to, ax)}"),
            "Conv Relu");
}

TEST(Needed, StrideGoesIntoTheConvolution) {
  EXPECT_EQ(cut("agraph (float[1,2,9,9] x) => (float[1,4,5,5] y) <" + weight("w", "4,2,3,3", 72, 1) +
                "> {\nc = Conv<pads=[1,1,1,1]>(x, w)\nr = Relu(c)\n"
                "y = MaxPool<kernel_shape=[1,1], strides=[2,2]>(r)}"),
            "Conv Relu");
}

TEST(Needed, CropOfAConvolutionKeepsThePadsThatItTouches) {
  EXPECT_EQ(cut("agraph (float[N,2,9,9] x) => (float[N,4,3,4] y) <" + weight("w", "4,2,3,3", 72, 1) + ", " +
                integers("from", {0, 3}) + ", " + integers("to", {3, 7}) + ", " + integers("ax", {2, 3}) +
                "> {\nc = Conv<pads=[1,1,1,1]>(x, w)\nr = Relu(c)\ny = Slice(r, from, to, ax)}"),
            "Slice Conv Relu");
}

TEST(Needed, CropOfATransposedConvolutionGoesIntoItsPads) {
  EXPECT_EQ(cut("agraph (float[2,2,16] x) => (float[2,3,9] y) <" + weight("w", "2,3,4", 24, 1) + ", " +
                integers("from", {5}) + ", " + integers("to", {14}) + ", " + integers("ax", {2}) +
                "> {\nc = ConvTranspose<strides=[2]>(x, w)\nr = Relu(c)\ny = Slice(r, from, to, ax)}"),
            "Slice ConvTranspose Relu");
}

TEST(Needed, LastStepOfACausalStack) {
  EXPECT_EQ(cut("agraph (float[1,4,32] x) => (float[1,4] y) <" + weight("w", "4,4,3", 48, 1) + ", " +
                weight("v", "4,4,3", 48, 2) + ", int64 last = {-1}, " + integers("zero", {0}) + ", " +
                integers("chomp1", {-2}) + ", " + integers("chomp2", {-4}) + ", " + integers("ax", {2}) +
                "> {\na = Conv<pads=[2,2]>(x, w)\nb = Slice(a, zero, chomp1, ax)\nc = Relu(b)\n"
                "d = Conv<pads=[4,4], dilations=[2]>(c, v)\ne = Slice(d, zero, chomp2, ax)\nf = Relu(e)\n"
                "g = Add(f, x)\nh = Relu(g)\ny = Gather<axis=2>(h, last)}"),
            "Slice Conv Relu Conv Relu Slice Add Relu Squeeze");
}

TEST(Needed, PartsOfAConcatThatNobodyReadsAreGone) {
  EXPECT_EQ(cut("agraph (float[1,4,8] x, float[1,3,8] z) => (float[1,1,8] y) <" + integers("at", {1}) +
                "> {\na = Tanh(x)\nb = Exp(z)\nc = Concat<axis=1>(a, b)\ny = Gather<axis=1>(c, at)}"),
            "Slice Tanh");
}

TEST(Needed, RowsThroughAReshapeThatPutsBatchAndPositionTogether) {
  EXPECT_EQ(cut("agraph (float[2,8,4] x) => (float[2,6] y) <" + weight("w", "4,6", 24, 1) + ", " +
                integers("flat", {16, 4}) + ", " + integers("back", {2, 8, 6}) + ", int64 first = {0}" +
                "> {\nt = Tanh(x)\nf = Reshape(t, flat)\nm = MatMul(f, w)\nr = Reshape(m, back)\n"
                "y = Gather<axis=1>(r, first)}"),
            "Slice Tanh Reshape MatMul Reshape Squeeze");
}

TEST(Needed, ComputedIndicesAreAppliedBeforeTheProduct) {
  EXPECT_EQ(cut("agraph (float[64,8] x, int64[3] at) => (float[3,6] y) <" + weight("w", "8,6", 48, 1) +
                "> {\nt = MatMul(x, w)\ny = Gather(t, at)}"),
            "Gather MatMul");
}

TEST(Needed, LastTokenOfASequenceWhoseLengthHasAName) {
  EXPECT_EQ(cut("agraph (float[b,n,8] x) => (float[b,1,6] y) <" + weight("w", "8,6", 48, 1) + ", " +
                integers("from", {-1}) + ", int64[1] to = {9223372036854775807}, " + integers("ax", {1}) +
                "> {\nm = MatMul(x, w)\ny = Slice(m, from, to, ax)}"),
            "Slice MatMul");
  EXPECT_EQ(cut("agraph (float[b,n,8] x) => (float[b,6] y) <" + weight("w", "8,6", 48, 1) +
                ", int64 last = {-1}> {\nm = MatMul(x, w)\nt = Tanh(m)\ny = Gather<axis=1>(t, last)}"),
            "Gather MatMul Tanh Squeeze");
}

TEST(Needed, EndOfACausalConvolutionWhoseLengthHasANameIsNotComputed) {
  EXPECT_EQ(cut("agraph (float[1,4,n] x) => (float[1,4,n] y) <" + weight("w", "4,4,3", 48, 1) + ", " +
                weight("v", "4,4,3", 48, 2) + ", " + integers("from", {0}) + ", " + integers("to", {-6}) +
                ", " + integers("ax", {2}) +
                "> {\na = Conv<pads=[2,2]>(x, w)\nr = Relu(a)\nb = Conv<dilations=[2], pads=[4,4]>(r, v)\n"
                "y = Slice(b, from, to, ax)}"),
            "Conv Relu Conv");
}

TEST(Needed, RowsOfBatchAndPositionAsOneAxis) {
  EXPECT_EQ(
      cut("agraph (float[b,16,8] x, int64[b] at) => (float[b,6] y) <" + weight("w", "8,6", 48, 1) + ", " +
          integers("flat", {-1, 6}) + "> {\nt = MatMul(x, w)\nr = Reshape(t, flat)\ny = Gather(r, at)}"),
      "Reshape Gather Unsqueeze MatMul Reshape");
}

TEST(Needed, IndicesThatAreRepeatedAlongARow) {
  EXPECT_EQ(cut("agraph (float[b,64,8] x, int64[b,3] at) => (float[b,3,6] y) <" + weight("w", "8,6", 48, 1) +
                ", " + integers("ax", {2}) + ", " + integers("times", {1, 1, 6}) +
                "> {\nt = MatMul(x, w)\nu = Unsqueeze(at, ax)\ni = Tile(u, times)\n"
                "y = GatherElements<axis=1>(t, i)}"),
            "Unsqueeze GatherND MatMul");
}

TEST(Needed, QueryRowsThatEachBatchChooses) {
  EXPECT_EQ(cut("agraph (float[b,16,8] q, float[b,8,12] k, int64[b,1] at) => (float[b,12] y) {\n"
                "t = MatMul(q, k)\ny = GatherND<batch_dims=1>(t, at)}"),
            "GatherND Unsqueeze MatMul Reshape");
}

TEST(Needed, ElementsThatAreChosenOneByOne) {
  EXPECT_EQ(cut("agraph (float[b,64] x, int64[b,2] i) => (float[b,2] y) {\nt = Exp(x)\nu = Tanh(t)\n"
                "y = GatherElements<axis=1>(u, i)}"),
            "GatherElements Exp Tanh");
  EXPECT_EQ(cut("agraph (float[b,64] x, int64[b,1] i) => (float[b,1] y) {\nt = LogSoftmax(x)\n"
                "y = GatherElements<axis=1>(t, i)}"),
            "ReduceLogSumExp GatherElements Sub");
  EXPECT_EQ(
      cut("agraph (float[b,64] x, int64[b,1] i) => (float[b,1] y) {\nt = Softmax<axis=1>(x)\nl = Log(t)\n"
          "y = GatherElements<axis=1>(l, i)}"),
      "Softmax GatherElements Log");
}

TEST(Needed, RowsOfABatchOfOne) {
  EXPECT_EQ(cut("agraph (float[1,64,8] x, int64[1,3] at) => (float[1,3,6] y) <" + weight("w", "8,6", 48, 1) +
                ", " + integers("ax", {2}) + ", " + integers("times", {1, 1, 6}) +
                "> {\nt = MatMul(x, w)\nr = Relu(t)\nu = Unsqueeze(at, ax)\ni = Tile(u, times)\n"
                "y = GatherElements<axis=1>(r, i)}"),
            "Unsqueeze Reshape Gather MatMul Relu");
  EXPECT_EQ(cut("agraph (float[1,64,8] x, int64[1,1] at) => (float[1,8] y) {\nt = Exp(x)\n"
                "y = GatherND<batch_dims=1>(t, at)}"),
            "Reshape Gather Exp Reshape");
  EXPECT_EQ(cut("agraph (float[1,64,8] x, int64[1,64] ids) => (float[1,8] y) <int64[1,1] b = {0}, " +
                integers("ax", {1}) +
                "> {\nt = Exp(x)\nm = ArgMax<axis=1, keepdims=0>(ids)\nu = Unsqueeze(m, ax)\n"
                "at = Concat<axis=1>(b, u)\ny = GatherND(t, at)}"),
            "ArgMax Unsqueeze Concat Slice Reshape Gather Exp Reshape");
}

TEST(Needed, ComputedIndicesPassAFunctionThatIsDefinedEverywhere) {
  EXPECT_EQ(cut("agraph (float[64,8] x, int64[3] at) => (float[3,8] y) {\nt = Exp(x)\ny = Gather(t, at)}"),
            "Gather Exp");
}

// A logarithm may be undefined at rows that are not selected.
TEST(Needed, ComputedIndicesStopAtAFunctionThatMayBeUndefined) {
  EXPECT_EQ(cut("agraph (float[64,8] x, int64[3] at) => (float[3,8] y) {\nt = Log(x)\ny = Gather(t, at)}"),
            "");
}

}  // namespace
}  // namespace isomer
