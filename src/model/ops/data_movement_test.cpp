// Concat, Split, Gather, Expand, Tile, Squeeze, Pad, Resize and Range: what drawn calls of concrete extents
// can't show.
#include "model/ops/shared/test_call.h"

namespace isomer {
namespace {

using testing::HasSubstr;

const Dim kBatch = Dim::symbol("batch"), kLength = Dim::symbol("length");

bool is_invalid(std::string_view op, const Call& call) {
  return std::holds_alternative<Invalid>(defined(op, call));
}

std::string value_of(std::string_view op, const Call& call) {
  const Definition definition = defined(op, call);
  const auto* formula = std::get_if<Formula>(&definition);
  return formula ? text(formula->output(0).value) : "no formula";
}

Attribute axis(std::int64_t value) { return {"axis", value}; }

TEST(Concat, AddsSymbolicExtentsAndLearnsConcreteOnes) {
  const Call call = float_call(13, {{kBatch, kLength}, {2, 3}}, {axis(1)});
  EXPECT_EQ(shape_of("Concat", call), (Dims{2, kLength + Dim(3)}));
}

TEST(Concat, RefusesInputsOfDifferentRankTypeOrExtent) {
  EXPECT_TRUE(is_invalid("Concat", float_call(13, {{2, 3}, {2}}, {axis(0)})));
  EXPECT_TRUE(is_invalid("Concat", float_call(13, {{2, 3}, {2, 4}}, {axis(0)})));
  Call typed = float_call(13, {{2}, {2}}, {axis(0)});
  typed.inputs[1]->type.type = ElementType::Int64;
  EXPECT_TRUE(is_invalid("Concat", typed));
}

TEST(Concat, RefusesAnAxisOutsideOfTheRank) {
  EXPECT_EQ(refused_attribute("Concat", float_call(13, {{2, 3}}, {axis(2)})), "axis");
  EXPECT_EQ(refused_attribute("Concat", float_call(13, {{2, 3}})), "axis");
}

TEST(Split, MakesTheLastPieceShorterSinceOpset18) {
  Call call = float_call(18, {{7}}, {{"num_outputs", std::int64_t{3}}});
  call.output_count = 3;
  const Definition definition = defined("Split", call);
  EXPECT_EQ(std::get<Formula>(definition).output_type(0).shape, (Dims{3}));
  EXPECT_EQ(std::get<Formula>(definition).output_type(2).shape, (Dims{1}));
  call.opset = 13;
  call.attributes = {};
  EXPECT_TRUE(is_invalid("Split", call));
}

TEST(Gather, OfOneKnownIndexIsARead) {
  Call call = float_call(13, {{kBatch, kLength, 8}}, {axis(1)});
  call.inputs.push_back(Call::Input{.type = {ElementType::Int64, {}}, .integers = Dims{-1}});
  EXPECT_EQ(value_of("Gather", call), "x0[a0, length - 1, a1]");
}

TEST(Gather, OfIndicesInEqualStepsIsAffine) {
  const Call call = float_call(13, {{8, 4}});
  EXPECT_EQ(value_of("Gather", with_integers(call, {1, 3, 5})), "x0[2*a0 + 1, a1]");
  EXPECT_EQ(value_of("Gather", with_integers(call, {2, 1, 0})), "x0[-a0 + 2, a1]");
  EXPECT_THAT(value_of("Gather", with_integers(call, {0, 1, 3})), HasSubstr("otherwise"));
}

TEST(Gather, OfAShuffleGoesDigitByDigit) {
  const Call call = float_call(13, {{24}});
  Dims shuffled;
  for (int i = 0; i < 24; ++i) shuffled.emplace_back(i / 3 + 8 * (i % 3));
  EXPECT_EQ(value_of("Gather", with_integers(call, shuffled)), "x0[8*(a0) mod 3 + floor((a0)/3)]");
  shuffled[7] = 1;
  EXPECT_THAT(value_of("Gather", with_integers(call, shuffled)), HasSubstr("sum"));
}

TEST(Gather, OfComputedIndicesIsASumWithOneTerm) {
  Call call = with_integers(float_call(13, {{8, 4}}), {0, 5, 1});
  call.inputs[1]->integers.reset();
  EXPECT_EQ(value_of("Gather", call),
            "sum(a2<8: where(equal(<a2>, where(less(x1[a0], 0), add(x1[a0], <8>), x1[a0])), x0[a2, a1], 0))");
}

TEST(Gather, RefusesKnownIndicesOutsideOfTheAxis) {
  EXPECT_TRUE(is_invalid("Gather", with_integers(float_call(13, {{8}}), {8})));
  EXPECT_TRUE(is_invalid("Gather", with_integers(float_call(13, {{8}}), {-9})));
}

TEST(Expand, TakesSymbolicExtents) {
  EXPECT_EQ(shape_of("Expand", with_integers(float_call(13, {{1, 4}}), {kBatch, 1})), (Dims{kBatch, 4}));
  EXPECT_TRUE(is_invalid("Expand", with_integers(float_call(13, {{3}}), {2})));
}

TEST(Tile, MultipliesSymbolicExtents) {
  const Call call = with_integers(float_call(13, {{kLength, 1}}), {2, kBatch});
  EXPECT_EQ(shape_of("Tile", call), (Dims{Dim(2) * kLength, kBatch}));
  EXPECT_EQ(value_of("Tile", call), "x0[(a0) mod length, 0]");
}

TEST(Squeeze, WithoutAxesNeedsToKnowWhichExtentsAreOne) {
  EXPECT_EQ(shape_of("Squeeze", float_call(13, {{1, 3, 1}})), (Dims{3}));
  EXPECT_THAT(opaque_reason("Squeeze", float_call(13, {{1, kBatch}})), HasSubstr("extent 1"));
  EXPECT_TRUE(is_invalid("Squeeze", with_integers(float_call(13, {{2, 1}}), {0})));
}

TEST(Unsqueeze, CountsItsAxesInTheOutput) {
  EXPECT_EQ(shape_of("Unsqueeze", with_integers(float_call(13, {{kBatch}}), {0, -1})), (Dims{1, kBatch, 1}));
  EXPECT_TRUE(is_invalid("Unsqueeze", with_integers(float_call(13, {{2}}), {3})));
}

TEST(Pad, WithZeroIsAReadThatLeavesTheInput) {
  EXPECT_EQ(value_of("Pad", with_integers(float_call(13, {{kLength}}), {2, 1})), "x0[a0 - 2]");
  EXPECT_EQ(shape_of("Pad", with_integers(float_call(13, {{kLength}}), {2, 1})), (Dims{kLength + Dim(3)}));
}

TEST(Pad, RefusesToCutMoreThanThereIs) {
  EXPECT_TRUE(is_invalid("Pad", with_integers(float_call(13, {{3}}), {-2, -2})));
}

TEST(Pad, IsOpaqueWhereAReflectionIsLongerThanTheAxis) {
  const Call call = with_integers(float_call(13, {{3}}, {{"mode", std::string("reflect")}}), {3, 0});
  EXPECT_THAT(opaque_reason("Pad", call), HasSubstr("more than one period"));
}

Call resize(Dims shape, const std::vector<float>& scales, std::vector<Attribute> attributes) {
  Call call = float_call(13, {std::move(shape)}, std::move(attributes));
  call.inputs.emplace_back();
  const auto count = static_cast<std::int64_t>(scales.size());
  call.inputs.push_back(Call::Input{.type = {ElementType::Float, {count}},
                                    .constant = Tensor::of(ElementType::Float, {count}, scales)});
  return call;
}

TEST(Resize, ByPowersOfTwoKeepsSymbolicExtents) {
  const std::vector<Attribute> floor{{"coordinate_transformation_mode", std::string("asymmetric")},
                                     {"nearest_mode", std::string("floor")}};
  EXPECT_EQ(shape_of("Resize", resize({kBatch, kLength}, {1, 2}, floor)), (Dims{kBatch, Dim(2) * kLength}));
  EXPECT_EQ(value_of("Resize", resize({kBatch, kLength}, {1, 2}, floor)), "x0[a0, floor((a1)/2)]");
  EXPECT_THAT(opaque_reason("Resize", resize({kBatch, kLength}, {1, 3}, floor)), HasSubstr("power of two"));
}

TEST(Resize, BySizesKnowsASymbolicScale) {
  Call call = float_call(13, {{kBatch, kLength}}, {{"mode", std::string("linear")}});
  call.inputs.resize(3);
  EXPECT_EQ(shape_of("Resize", with_integers(call, {kBatch, Dim(4) * kLength})),
            (Dims{kBatch, Dim(4) * kLength}));
  EXPECT_THAT(opaque_reason("Resize", with_integers(call, {kBatch, 100})), HasSubstr("symbolic scale"));
}

TEST(Resize, IsOpaqueForWhatIsNotAnExactFraction) {
  EXPECT_EQ(opaque_reason("Resize", resize({4}, {2}, {{"mode", std::string("cubic")}})), "not opaque");
  EXPECT_EQ(opaque_reason("Resize", resize({4}, {2}, {{"exclude_outside", std::int64_t{1}}})),
            "exclude_outside without cubic interpolation");
  EXPECT_THAT(opaque_reason("Resize", resize({3}, {1.2f}, {})), HasSubstr("leaves the extent"));
}

TEST(Range, CountsTowardsASymbolicLimit) {
  Call call;
  call.opset = 13;
  for (const Dim& value : {Dim(0), kLength, Dim(2)})
    call.inputs.push_back(Call::Input{.type = {ElementType::Int64, {}}, .integers = Dims{value}});
  EXPECT_EQ(shape_of("Range", call), (Dims{Dim::ceil(kLength, 2)}));
  EXPECT_EQ(value_of("Range", call), "<2*a0>");
}

TEST(Shape, TellsSymbolicExtents) {
  EXPECT_EQ(value_of("Shape", float_call(15, {{kBatch, 3}}, {{"end", std::int64_t{1}}})), "<batch>");
}

TEST(Dropout, IsOpaqueWhereItMayBeRandom) {
  Call call = float_call(13, {{4}, {}});
  call.inputs.push_back(Call::Input{.type = {ElementType::Bool, {}}});
  EXPECT_EQ(opaque_reason("Dropout", call), "training_mode is not known");
  call.inputs[2]->integers = Dims{1};
  EXPECT_EQ(opaque_reason("Dropout", call), "training_mode is on");
  call.inputs[2]->integers = Dims{0};
  EXPECT_EQ(value_of("Dropout", call), "x0[a0]");
}

TEST(Pow, OfAKnownSquareIsAProduct) {
  Call call = float_call(13, {{4}, {}});
  call.inputs[1]->constant = Tensor::of<float>(ElementType::Float, {}, {2.0f});
  EXPECT_EQ(value_of("Pow", call), "mul(x0[a0], x0[a0])");
}

}  // namespace
}  // namespace isomer
