#include "optimizer/propose/products/derive.h"

#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::program;
using testing::weight;

// What each proposal says, with the operators after it, or why it is not proved.
std::map<std::string, std::string> all(const std::string& text, bool any_price = true) {
  const Graph graph = program(text);
  const auto inference = infer(graph);
  const auto proposals = propose_derive(graph, *inference, {.any_price = any_price}).list;
  std::map<std::string, std::string> out;
  for (std::size_t k = 0; k < proposals.size(); ++k) {
    std::string why;
    const auto result = testing::taken(propose_derive, graph, &why, any_price, k);
    out[proposals[k].what] += (result ? testing::operators(*result) : why) + "\n";
  }
  return out;
}

std::string one(const std::string& x, const std::string& node, const std::string& weights) {
  return "agraph (" + x + " x) => (float[a,b,c,d] y) <" + weights + "> {\ny = " + node + "}";
}
std::string conv(const std::string& x, const std::string& attributes) {
  return one(x, "Conv<" + attributes + ">(x, w)", weight("w", "4,2,1,3", 24, 1));
}

const std::string kApart = "Conv producing y as products of 3 slices";
const std::string kBeside = "Conv producing y as one product of all its slices";

TEST(Derive, AConvolutionIsASumOfShiftedProducts) {
  const auto found = all(conv("float[3,2,7,8]", "strides=[1,1]"));
  EXPECT_EQ(
      found.at(kApart),
      "Slice Conv Slice Conv Slice Conv Add Add\n"
      "Slice Reshape MatMul Slice Reshape MatMul Slice Reshape MatMul Reshape Reshape Add Reshape Add\n");
}

TEST(Derive, AConvolutionIsOneProductOfItsSlices) {
  const auto found = all(conv("float[3,2,7,8]", "strides=[1,1]"));
  EXPECT_TRUE(found.at(kBeside).ends_with("Concat Transpose Reshape MatMul Reshape\n")) << found.at(kBeside);
}

TEST(Derive, BordersStridesAndHolesAreSlices) {
  for (const char* attributes : {"pads=[1,1,0,2]", "strides=[2,2]", "dilations=[1,2], pads=[0,2,0,2]"}) {
    const auto found = all(conv("float[3,2,7,8]", attributes));
    EXPECT_NE(found.at(kApart).find("Slice Conv Slice Conv Slice Conv Add Add\n"), std::string::npos)
        << attributes << found.at(kApart);
    EXPECT_TRUE(found.at(kBeside).ends_with("MatMul Reshape\n")) << attributes << found.at(kBeside);
  }
}

TEST(Derive, GroupsAreABatchOfProducts) {
  const auto found = all(one("float[3,4,7,8]", "Conv<group=2>(x, w)", weight("w", "6,2,1,3", 36, 1)));
  EXPECT_NE(found.at(kApart).find("MatMul"), std::string::npos) << found.at(kApart);
  EXPECT_NE(found.at(kBeside).find("MatMul"), std::string::npos) << found.at(kBeside);
}

TEST(Derive, APoolIsAConvolution) {
  const auto found = all(one("float[2,4,6,8]", "AveragePool<kernel_shape=[2,2], strides=[2,2]>(x)",
                             weight("unused", "1", 1, 1)));
  EXPECT_EQ(found.at("AveragePool producing y restated: 1 nodes linear in x are one 2x2 convolution"),
            "Conv\n");
}

TEST(Derive, APoolThatCountsOnlyWhatIsThereIsNoConvolution) {
  EXPECT_TRUE(all(one("float[2,4,6,8]", "AveragePool<kernel_shape=[3,3], pads=[1,1,1,1]>(x)",
                      weight("unused", "1", 1, 1)))
                  .empty());
}

TEST(Derive, ATransposedConvolutionThatMeetsNothingTwiceIsAProduct) {
  const auto found =
      all(one("float[N,4,6,8]", "ConvTranspose<strides=[2,2]>(x, w)", weight("w", "4,3,2,2", 48, 1)));
  EXPECT_EQ(found.at("ConvTranspose producing y restated: 1 nodes linear in x are one 1x1 convolution"),
            "Conv Reshape Transpose Reshape\n");
  EXPECT_EQ(found.at("ConvTranspose producing y restated: 1 nodes linear in x are one 4x12 matrix product"),
            "Transpose MatMul Reshape Transpose Reshape\n");
}

TEST(Derive, LargeKernelsAndMaximaAreLeftAlone) {
  EXPECT_FALSE(all(one("float[1,2,9,9]", "Conv(x, w)", weight("w", "1,2,6,6", 72, 1)))
                   .contains("Conv producing y as products of 36 slices"));
  EXPECT_TRUE(
      all(one("float[2,4,6,8]", "MaxPool<kernel_shape=[2,2]>(x)", weight("unused", "1", 1, 1))).empty());
}

TEST(Derive, WhatCostsMoreThanTwiceAsMuchIsNoBet) {
  EXPECT_TRUE(all(conv("float[3,2,7,8]", "strides=[1,1]"), false).empty());
}

}  // namespace
}  // namespace isomer
