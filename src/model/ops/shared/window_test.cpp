#include "model/ops/shared/window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "model/ops/shared/test_call.h"

namespace isomer {
namespace {

const Dims kImage{1, 2, 8, 8}, kWeight{4, 2, 3, 3};

TEST(Window, RefusesStridesBelowOneByName) {
  EXPECT_EQ(refused_attribute("Conv", float_call(13, {kImage, kWeight}, {{"strides", Int64s{0, 1}}})),
            "strides");
  EXPECT_EQ(refused_attribute("Conv", float_call(13, {kImage, kWeight}, {{"strides", Int64s{1, -2}}})),
            "strides");
  EXPECT_EQ(refused_attribute("ConvTranspose",
                              float_call(13, {{1, 4, 8, 8}, kWeight}, {{"strides", Int64s{0, 0}}})),
            "strides");
  EXPECT_EQ(
      refused_attribute(
          "MaxPool", float_call(13, {kImage}, {{"kernel_shape", Int64s{2, 2}}, {"strides", Int64s{0, 0}}})),
      "strides");
}

TEST(Window, RefusesDilationsBelowOneByName) {
  EXPECT_EQ(refused_attribute("Conv", float_call(13, {kImage, kWeight}, {{"dilations", Int64s{0, 1}}})),
            "dilations");
  EXPECT_EQ(refused_attribute(
                "AveragePool",
                float_call(19, {kImage}, {{"kernel_shape", Int64s{2, 2}}, {"dilations", Int64s{1, 0}}})),
            "dilations");
}

TEST(Window, RefusesListsOfTheWrongLengthByName) {
  EXPECT_EQ(refused_attribute("Conv", float_call(13, {kImage, kWeight}, {{"strides", Int64s{1}}})),
            "strides");
  EXPECT_EQ(refused_attribute("Conv", float_call(13, {kImage, kWeight}, {{"pads", Int64s{1, 1}}})), "pads");
  EXPECT_EQ(refused_attribute("Conv", float_call(13, {kImage, kWeight}, {{"dilations", Int64s{}}})),
            "dilations");
}

TEST(Window, RefusesKernelsThatAreEmptyMissingOrNotTheWeights) {
  EXPECT_EQ(refused_attribute("Conv", float_call(13, {kImage, kWeight}, {{"kernel_shape", Int64s{3, 2}}})),
            "kernel_shape");
  EXPECT_EQ(refused_attribute("Conv", float_call(13, {kImage, {4, 2, 0, 3}})), "kernel_shape");
  EXPECT_EQ(refused_attribute("MaxPool", float_call(13, {kImage})), "kernel_shape");
  EXPECT_EQ(refused_attribute("MaxPool", float_call(13, {kImage}, {{"kernel_shape", Int64s{0, 2}}})),
            "kernel_shape");
}

// A Conv fails while it runs. For a pool with a stride the standard has no window, and ONNX Runtime has one.
TEST(Window, IsOpaqueForAKernelLargerThanThePaddedInput) {
  using testing::HasSubstr;
  EXPECT_THAT(opaque_reason("Conv", float_call(13, {{1, 2, 2, 8}, kWeight})), HasSubstr("larger"));
  const Attribute kernel{"kernel_shape", Int64s{3}}, strides{"strides", Int64s{2}}, ceil{"ceil_mode", 1};
  EXPECT_THAT(opaque_reason("MaxPool", float_call(13, {{1, 2, 2}}, {kernel, strides})), HasSubstr("larger"));
  // With ceil_mode both have one, if less than a stride is missing.
  EXPECT_EQ(shape_of("MaxPool", float_call(13, {{1, 2, 2}}, {kernel, strides, ceil})), (Dims{1, 2, 1}));
  EXPECT_THAT(opaque_reason("MaxPool", float_call(13, {{1, 2, 1}}, {kernel, strides, ceil})),
              HasSubstr("larger"));
}

// What a pool computes of 2 elements, where its kernel has 3 and its stride is 2, runtimes differ on; of 1 it
// has none.
TEST(Window, APoolOfSymbolicSizeNeedsAWholeWindow) {
  const Call call =
      float_call(13, {{1, 2, Dim::symbol("n")}}, {{"kernel_shape", Int64s{3}}, {"strides", Int64s{2}}});
  const Definition definition = defined("MaxPool", call);
  const Dim slack = Dim::symbol("n") - Dim(3);
  const SizeCondition wanted{.kind = SizeCondition::Kind::Needed, .extent = slack * (slack + Dim(2))};
  const auto& conditions = std::get<Formula>(definition).conditions;
  EXPECT_NE(std::ranges::find(conditions, wanted), conditions.end());
}

TEST(Window, IsOpaqueForPadsBelowZero) {
  for (const char* op : {"Conv", "ConvTranspose"})
    EXPECT_THAT(opaque_reason(op, float_call(13, {{1, 2, 8}, {2, 2, 3}}, {{"pads", Int64s{-1, 0}}})),
                testing::HasSubstr("below 0"))
        << op;
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"})
    EXPECT_THAT(opaque_reason(
                    op, float_call(18, {{1, 2, 8}}, {{"kernel_shape", Int64s{3}}, {"pads", Int64s{0, -1}}})),
                testing::HasSubstr("below 0"))
        << op;
}

TEST(Window, RefusesAnUnknownAutoPad) {
  EXPECT_EQ(refused_attribute("Conv", float_call(13, {kImage, kWeight}, {{"auto_pad", std::string("SAME")}})),
            "auto_pad");
}

TEST(Window, IsOpaqueWhereRuntimesDiffer) {
  const Attribute upper{"auto_pad", std::string("SAME_UPPER")};
  EXPECT_THAT(opaque_reason("Conv", float_call(13, {kImage, kWeight}, {upper, {"pads", Int64s{0, 0, 0, 0}}})),
              testing::HasSubstr("both"));
  EXPECT_THAT(opaque_reason("Conv", float_call(13, {kImage, kWeight}, {upper, {"dilations", Int64s{2, 2}}})),
              testing::HasSubstr("dilations"));
  EXPECT_THAT(opaque_reason("Conv", float_call(13, {kImage, kWeight}, {upper, {"strides", Int64s{5, 5}}})),
              testing::HasSubstr("stride"));
  EXPECT_THAT(opaque_reason("MaxPool", float_call(22, {{1, 1, 8}},
                                                  {{"kernel_shape", Int64s{2}},
                                                   {"ceil_mode", std::int64_t{1}},
                                                   {"auto_pad", std::string("VALID")}})),
              testing::HasSubstr("VALID"));
}

TEST(Window, IsOpaqueWhereAPoolMayHoldNoElement) {
  const Attribute kernel{"kernel_shape", Int64s{2}};
  EXPECT_THAT(opaque_reason("MaxPool", float_call(22, {{1, 1, 8}}, {kernel, {"pads", Int64s{2, 0}}})),
              testing::HasSubstr("pads"));
  EXPECT_THAT(
      opaque_reason("MaxPool",
                    float_call(22, {{1, 1, 2}}, {kernel, {"pads", Int64s{1, 1}}, {"dilations", Int64s{3}}})),
      testing::HasSubstr("step over"));
}

TEST(Window, CountsWindowsThatBeginInThePaddingAsTheOpsetDoes) {
  const std::vector<Attribute> attributes{
      {"kernel_shape", Int64s{1}}, {"strides", Int64s{2}}, {"ceil_mode", std::int64_t{1}}};
  EXPECT_EQ(shape_of("MaxPool", float_call(22, {{1, 1, 6}}, attributes)), (Dims{1, 1, 3}));
  EXPECT_THAT(opaque_reason("MaxPool", float_call(21, {{1, 1, 6}}, attributes)),
              testing::HasSubstr("ceil_mode"));
  EXPECT_EQ(shape_of("MaxPool", float_call(21, {{1, 1, 7}}, attributes)), (Dims{1, 1, 4}));
}

TEST(Window, KeepsSymbolicExtents) {
  const Dim h = Dim::symbol("h");
  const Attribute strides{"strides", Int64s{2}}, pads{"pads", Int64s{1, 1}};
  EXPECT_EQ(shape_of("Conv", float_call(13, {{1, 2, h}, {4, 2, 3}}, {strides, pads})),
            (Dims{1, 4, Dim::floor(h - 1, 2) + 1}));
  EXPECT_EQ(shape_of("Conv", float_call(13, {{1, 2, h}, {4, 2, 3}},
                                        {strides, {"auto_pad", std::string("SAME_UPPER")}})),
            (Dims{1, 4, Dim::ceil(h, 2)}));
  EXPECT_EQ(shape_of("ConvTranspose", float_call(13, {{1, 2, h}, {2, 4, 4}}, {strides, pads})),
            (Dims{1, 4, 2 * h}));
  EXPECT_EQ(shape_of("MaxPool", float_call(13, {{1, 2, h}}, {strides, {"kernel_shape", Int64s{2}}})),
            (Dims{1, 2, Dim::floor(h, 2)}));
  EXPECT_EQ(shape_of("AveragePool",
                     float_call(22, {{1, 2, h}},
                                {strides, {"kernel_shape", Int64s{3}}, {"ceil_mode", std::int64_t{1}}})),
            (Dims{1, 2, Dim::ceil(h - 3, 2) + 1}));
}

TEST(Window, TurnsOverflowIntoARefusal) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(
      refused_attribute("Conv", float_call(13, {kImage, kWeight}, {{"dilations", Int64s{huge, huge}}})),
      testing::IsEmpty());
  EXPECT_THAT(refused_attribute(
                  "Conv", float_call(13, {kImage, kWeight}, {{"pads", Int64s{huge, huge, huge, huge}}})),
              testing::IsEmpty());
}

}  // namespace
}  // namespace isomer
