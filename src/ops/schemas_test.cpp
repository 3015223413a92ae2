#include "onnx/schemas.h"

#include <gtest/gtest.h>

#include "onnx/onnx-ml.pb.h"

namespace isomer::wire {
namespace {

TEST(Schemas, KnowTheNewestVersionOfEachStandardDomain) {
  EXPECT_EQ(newest_version(""), kNewestOpset);
  EXPECT_EQ(newest_version("ai.onnx.ml"), 5);
  EXPECT_EQ(newest_version("ai.onnx.preview.training"), 1);
  EXPECT_EQ(newest_version("com.microsoft"), 0);
  EXPECT_EQ(kNewestIr, onnx::Version::IR_VERSION);
}

TEST(Schemas, GiveTheDefinitionInForceAtAnOpset) {
  EXPECT_EQ(find_schema("", "Conv", 7)->since, 1);
  EXPECT_EQ(find_schema("", "Conv", 11)->since, 11);
  EXPECT_EQ(find_schema("", "Conv", 21)->since, 11);
  EXPECT_EQ(find_schema("", "Conv", 28)->since, 22);
}

TEST(Schemas, DoNotKnowAnOperatorBeforeItsTime) {
  EXPECT_EQ(find_schema("", "Gelu", 19), nullptr);
  EXPECT_NE(find_schema("", "Gelu", 20), nullptr);
  EXPECT_TRUE(is_standard_operator("", "Gelu"));
  EXPECT_FALSE(is_standard_operator("", "Frobnicate"));
  EXPECT_FALSE(is_standard_operator("com.acme", "Relu"));
}

TEST(Schemas, TellARemovedOperatorFromADiscouragedOne) {
  EXPECT_FALSE(find_schema("", "Upsample", 9)->is_removed());
  EXPECT_TRUE(find_schema("", "Upsample", 10)->is_removed());
  EXPECT_FALSE(find_schema("", "GroupNormalization", 18)->is_removed());
}

TEST(Schemas, GiveTypesOfAttributesAndWhichAreRequired) {
  const Schema& conv = *find_schema("", "Conv", 17);
  EXPECT_EQ(conv.attribute("strides")->type, onnx::AttributeProto::INTS);
  EXPECT_EQ(conv.attribute("auto_pad")->type, onnx::AttributeProto::STRING);
  EXPECT_FALSE(conv.attribute("strides")->required);
  EXPECT_FALSE(conv.attribute("stride").has_value());
  EXPECT_EQ(find_schema("", "Concat", 17)->missing_attribute([](std::string_view) { return false; }), "axis");
  EXPECT_EQ(find_schema("", "If", 17)->attribute("then_branch")->type, onnx::AttributeProto::GRAPH);
}

TEST(Schemas, GiveTheNumberOfInputsAndOutputs) {
  const Schema& add = *find_schema("", "Add", 17);
  EXPECT_EQ(add.min_inputs, 2);
  EXPECT_EQ(add.max_inputs, 2);
  EXPECT_EQ(add.single_inputs, 3u);
  const Schema& clip = *find_schema("", "Clip", 17);
  EXPECT_EQ(clip.min_inputs, 1);
  EXPECT_EQ(clip.max_inputs, 3);
  EXPECT_EQ(clip.single_inputs, 1u);
}

TEST(Schemas, TakeTheLongNameOfTheStandardDomain) {
  EXPECT_EQ(normal_domain("ai.onnx"), "");
  EXPECT_EQ(normal_domain("ai.onnx.ml"), "ai.onnx.ml");
}

}  // namespace
}  // namespace isomer::wire
