#include "optimizer/propose/testing.h"

namespace isomer {
namespace {

using testing::program;
using testing::weight;

std::string phases(const std::string& text, std::string* why) {
  const auto result = testing::taken(kCommute, program(text), why, true);
  return result ? testing::operators(*result) : "";
}

TEST(Phases, ConvolutionOfAnEnlargedImageIsFourSmallOnes) {
  std::string why;
  EXPECT_EQ(phases("agraph (float[1,3,5,5] x) => (float[1,4,10,10] y) <" + weight("w", "4,3,3,3", 108, 1) +
                       ", float[4] s = {1.0, 1.0, 2.0, 2.0}> {\nu = "
                       "Resize<mode=\"nearest\", coordinate_transformation_mode=\"asymmetric\", "
                       "nearest_mode=\"floor\">(x, , s)\ny = Conv<pads=[1,1,1,1]>(u, w)}",
                   &why),
            "Conv Conv Conv Conv Concat DepthToSpace")
      << why;
}

TEST(Phases, WhatFollowsIsDoneForEachPhase) {
  std::string why;
  EXPECT_EQ(
      phases("agraph (float[1,3,90,90] x) => (float[1,4,180,180] y) <" + weight("w", "4,3,3,3", 108, 1) +
                 ", float[4] s = {1.0, 1.0, 2.0, 2.0}> {\nu = "
                 "Resize<mode=\"nearest\", coordinate_transformation_mode=\"asymmetric\", "
                 "nearest_mode=\"floor\">(x, , s)\nc = Conv<pads=[1,1,1,1]>(u, w)\ny = Relu(c)}",
             &why),
      "Conv Relu Conv Relu Conv Relu Conv Relu Concat DepthToSpace")
      << why;
}

}  // namespace
}  // namespace isomer
