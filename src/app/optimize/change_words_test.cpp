#include "app/optimize/change_words.h"

#include <gtest/gtest.h>

namespace isomer {
namespace {

TEST(ChangeWords, AGroupIsSaidInWordsThatItsOwnerKnows) {
  EXPECT_EQ(words_of_group("collapse: Conv+BatchNormalization -> Conv"),
            "batch normalization folded into its convolution");
  EXPECT_EQ(words_of_group("collapse: Conv+Add+BatchNormalization -> Conv"),
            "parallel branches merged into one convolution");
  EXPECT_EQ(words_of_group("collapse: Slice+Concat+Conv -> Conv"),
            "Slice, Concat and Conv merged into one convolution");
  EXPECT_EQ(words_of_group("collapse: ReduceMean+Add -> MatMul+Add"),
            "ReduceMean and Add merged into one matrix product");
  EXPECT_EQ(words_of_group("reassociate: Concat+Conv -> Conv+Add"),
            "convolution of joined values done as a sum over the parts");
  EXPECT_EQ(words_of_group("reassociate: MatMul -> MatMul+Split"),
            "several nodes on one value (MatMul) merged into one");
}

TEST(ChangeWords, WhatNobodyForesawIsSaidAsItIs) {
  EXPECT_EQ(words_of_group("novel: Conv -> Gemm+Add"), "Conv replaced by Gemm and Add");
  EXPECT_EQ(words_of_group("novel"), "novel");
}

TEST(ChangeWords, WhatIsGoingOnIsSaidInTheSameWords) {
  EXPECT_EQ(words_of_progress("proving: 4 nodes linear in x are one 3x3 convolution"),
            "proving: 4 nodes after x merged into one 3×3 convolution");
  EXPECT_EQ(words_of_progress("measuring 6 regions, collapse: Conv+Add -> Conv"),
            "measuring 6 × parallel branches merged into one convolution");
  EXPECT_EQ(words_of_progress("measuring the result, 14 %"), "measuring the result, 14 %");
}

TEST(ChangeWords, AStepNamesItsPlaceWithoutWhatExportersAdd) {
  EXPECT_EQ(
      words_of_step("collapse", "10 nodes linear in /stages/stages.0/Relu_output_0 are one 1x1 convolution"),
      "10 nodes after stages/stages.0/Relu merged into one 1×1 convolution");
  EXPECT_EQ(words_of_step("simplify", "/m/Cast_2 changes nothing"), "m/Cast_2 changes nothing");
}

}  // namespace
}  // namespace isomer
