#include "model/ops/shared/test_call.h"

namespace isomer {
namespace {

using testing::HasSubstr;

const Dims kImage{2, 6, 4, 4};

TEST(BatchNormalization, IsOpaqueWhereItTrains) {
  const std::vector<Dims> inputs{kImage, {6}, {6}, {6}, {6}};
  EXPECT_THAT(
      opaque_reason("BatchNormalization", float_call(14, inputs, {{"training_mode", std::int64_t{1}}})),
      HasSubstr("trains"));
  Call call = float_call(9, inputs);
  call.output_count = 5;
  EXPECT_THAT(opaque_reason("BatchNormalization", call), HasSubstr("trains"));
  EXPECT_NE(opaque_reason("BatchNormalization", float_call(7, inputs, {{"spatial", std::int64_t{0}}})),
            "not opaque");
}

TEST(BatchNormalization, RefusesStatisticsOfAnotherExtent) {
  EXPECT_TRUE(std::holds_alternative<Invalid>(
      defined("BatchNormalization", float_call(15, {kImage, {6}, {6}, {5}, {6}}))));
}

TEST(GroupNormalization, HasParametersPerGroupBeforeOpset21) {
  const std::vector<Attribute> groups{{"num_groups", std::int64_t{3}}};
  EXPECT_EQ(shape_of("GroupNormalization", float_call(18, {kImage, {3}, {3}}, groups)), kImage);
  EXPECT_EQ(shape_of("GroupNormalization", float_call(21, {kImage, {6}, {6}}, groups)), kImage);
  EXPECT_TRUE(std::holds_alternative<Invalid>(
      defined("GroupNormalization", float_call(18, {kImage, {6}, {6}}, groups))));
  EXPECT_TRUE(std::holds_alternative<Invalid>(
      defined("GroupNormalization", float_call(21, {kImage, {3}, {3}}, groups))));
}

TEST(GroupNormalization, RefusesGroupsThatDoNotDivideTheChannels) {
  EXPECT_EQ(refused_attribute("GroupNormalization",
                              float_call(21, {kImage, {6}, {6}}, {{"num_groups", std::int64_t{4}}})),
            "num_groups");
  EXPECT_EQ(refused_attribute("GroupNormalization",
                              float_call(21, {kImage, {6}, {6}}, {{"num_groups", std::int64_t{0}}})),
            "num_groups");
  EXPECT_EQ(refused_attribute("GroupNormalization", float_call(21, {kImage, {6}, {6}})), "num_groups");
}

TEST(LayerNormalization, IsOpaqueWhereItRoundsItsStatistics) {
  Call call = float_call(17, {{2, 4}, {4}});
  for (auto& input : call.inputs) input->type.type = ElementType::Double;
  EXPECT_THAT(opaque_reason("LayerNormalization", call), HasSubstr("precision"));
  EXPECT_THAT(
      opaque_reason("LayerNormalization", float_call(17, {{2, 4}, {4}}, {{"stash_type", std::int64_t{16}}})),
      HasSubstr("precision"));
}

TEST(LayerNormalization, HasStatisticsOfTypeFloatThatKeepTheRank) {
  Call call = float_call(17, {{2, 3, 4}, {3, 4}}, {{"axis", std::int64_t{1}}});
  for (auto& input : call.inputs) input->type.type = ElementType::Float16;
  call.output_count = 3;
  const Definition definition = defined("LayerNormalization", call);
  const auto* formula = std::get_if<Formula>(&definition);
  ASSERT_NE(formula, nullptr);
  EXPECT_EQ(formula->output_type(0), (TensorType{ElementType::Float16, {2, 3, 4}}));
  EXPECT_EQ(formula->output_type(1), (TensorType{ElementType::Float, {2, 1, 1}}));
  EXPECT_EQ(formula->output_type(2), (TensorType{ElementType::Float, {2, 1, 1}}));
}

TEST(Normalization, IsOpaqueWithAnEpsilonThatIsNotFinite) {
  const float infinite = std::numeric_limits<float>::infinity();
  EXPECT_THAT(opaque_reason("RMSNormalization", float_call(23, {{2, 4}, {4}}, {{"epsilon", infinite}})),
              HasSubstr("epsilon"));
}

TEST(Softmax, RefusesAnAxisOutsideOfTheRank) {
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"})
    EXPECT_EQ(refused_attribute(op, float_call(13, {{2, 3}}, {{"axis", std::int64_t{2}}})), "axis") << op;
}

}  // namespace
}  // namespace isomer
