#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::integers;
using testing::operators;
using testing::program;
using testing::weight;

std::string best(const std::string& text) { return testing::best_operators(kRepeated, text); }

TEST(Repeated, FunctionsOfWhatIsRepeatedAreComputedOnce) {
  // At any batch and any size of the image.
  EXPECT_EQ(
      best("agraph (float[b,16] s, float[b,16,h,w] x) => (float[b,16,h,w] y) <" + integers("sp", {2, 3}) +
           "> {\nu = Unsqueeze(s, sp)\nn = Shape(x)\ne = Expand(u, n)\ng = Sigmoid(e)\n"
           "y = Mul(x, g)}"),
      "Unsqueeze Sigmoid Mul");
}

TEST(Repeated, OneMapForAllChannelsIsBroadcast) {
  std::string all = "s";
  for (int k = 1; k < 32; ++k) all += ", s";
  EXPECT_EQ(best("agraph (float[b,1,16,16] m, float[b,32,16,16] x) => (float[b,32,16,16] y) {\n"
                 "s = Sigmoid(m)\nc = Concat<axis=1>(" +
                 all + ")\ny = Mul(x, c)}"),
            "Sigmoid Mul");
}

TEST(Repeated, SeveralEndsOfARegionAreProposedTogether) {
  EXPECT_EQ(best("agraph (float[b,16,16] x, float[b,16,16] z) => (float[b,16,16] y, float[b,16,16] v) <" +
                 weight("q", "1,16,16", 256, 1) + ", " + weight("w", "16,16", 256, 2) +
                 "> {\nn = Shape(x)\ne = Expand(q, n)\nt = Tanh(e)\nm = MatMul(t, w)\ny = Add(m, x)\n"
                 "f = Exp(m)\nv = Mul(f, z)}"),
            "Add Mul");
}

TEST(Repeated, TheBorderOfARepeatedPartHasFewClasses) {
  // A label for all pixels beside an image, at any batch.
  const std::string labels = "agraph (float[b,2,12,12] x, float[b,2,1,1] c) => (float[b,2,12,12] y) <" +
                             integers("r", {1, 1, 12, 12}) + ", " + weight("w", "2,4,3,3", 72, 1) +
                             "> {\nt = Tile(c, r)\nj = Concat<axis=1>(x, t)\ny = Conv<pads=[1,1,1,1]>(j, w)}";
  std::string why;
  const auto result = testing::taken(kRepeated, program(labels), &why, true);
  ASSERT_TRUE(result.has_value()) << why;
  EXPECT_EQ(
      operators(*result),
      "Conv Reshape Slice Slice Expand Slice Slice Concat Slice Slice Expand Slice Slice Concat Conv Add");
}

TEST(Repeated, WithoutABorderThereIsOneClassAtAnySize) {
  EXPECT_EQ(best("agraph (float[b,8,h,w] x, float[b,8,1,1] c) => (y) <" + integers("sp", {2, 3}) + ", " +
                 weight("k", "8,16,3,3", 1152, 1) +
                 "> {\nn = Shape(x)\nt = Expand(c, n)\nj = Concat<axis=1>(x, t)\ny = Conv(j, k)}"),
            "Conv Conv Add");
}

TEST(Repeated, BordersAtAnySize) {
  // A speaker beside frames, as many as there are.
  EXPECT_EQ(best("agraph (float[b,8,t] x, float[b,16,1] c) => (y) <" + integers("ch", {16}) + ", " +
                 integers("at", {0}) + ", " + integers("to", {2}) + ", " + weight("k", "8,24,3", 576, 1) +
                 "> {\nn = Shape(x)\np = Gather(n, at)\nq = Gather(n, to)\ns = Concat<axis=0>(p, ch, q)\n"
                 "e = Expand(c, s)\nj = Concat<axis=1>(x, e)\ny = Conv<pads=[1,1]>(j, k)}"),
            "Conv Reshape Shape Slice Concat ConstantOfShape Conv Squeeze MatMul Conv Add");
}

TEST(Repeated, ConstantMapsAreConvolvedBeforehand) {
  EXPECT_EQ(best("agraph (float[b,8,12,12] x) => (float[b,8,12,12] y) <" + weight("m", "1,1,12,12", 144, 2) +
                 ", " + weight("k", "8,9,3,3", 648, 1) + ", " + integers("one", {1}) + ", " +
                 integers("image", {1, 12, 12}) + ", " + integers("at", {0}) +
                 "> {\nn = Shape(x)\nb = Gather(n, at)\ns = Concat<axis=0>(b, image)\nt = Expand(m, s)\n"
                 "j = Concat<axis=1>(x, t)\ny = Conv<pads=[1,1,1,1]>(j, k)}"),
            "Conv Add");
}

TEST(Repeated, ZerosAreNotConvolved) {
  EXPECT_EQ(best("agraph (float[b,4,12,12] x, float[b,8,12,12] z) => (float[b,8,12,12] y) <" +
                 weight("k", "8,12,3,3", 864, 1) +
                 "> {\nn = Shape(z)\ns = ConstantOfShape(n)\nj = Concat<axis=1>(x, s)\n"
                 "y = Conv<pads=[1,1,1,1]>(j, k)}"),
            "Conv");
}

}  // namespace
}  // namespace isomer
