#include "model/ops/schemas.h"

#include <gtest/gtest.h>

namespace isomer {
namespace {

TEST(Schemas, KnowTheNewestVersionOfEachStandardDomain) {
  EXPECT_EQ(newest_version(""), kNewestOpset);
  EXPECT_EQ(newest_version("ai.onnx.ml"), 5);
  EXPECT_EQ(newest_version("ai.onnx.preview.training"), 1);
  EXPECT_EQ(newest_version("com.microsoft"), 0);
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
  EXPECT_EQ(conv.attribute("strides")->type, AttributeType::Ints);
  EXPECT_EQ(conv.attribute("auto_pad")->type, AttributeType::String);
  EXPECT_FALSE(conv.attribute("strides")->required);
  EXPECT_FALSE(conv.attribute("stride").has_value());
  EXPECT_EQ(find_schema("", "Concat", 17)->missing_attribute([](std::string_view) { return false; }), "axis");
  EXPECT_EQ(find_schema("", "If", 17)->attribute("then_branch")->type, AttributeType::Graph);
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

TEST(Schemas, GiveTheElementTypesOfInputs) {
  const Schema& pow = *find_schema("", "Pow", 13);
  EXPECT_TRUE(pow.takes(0, ElementType::Int32));
  EXPECT_FALSE(pow.takes(0, ElementType::Int8));
  EXPECT_TRUE(pow.takes(1, ElementType::Int8));
  EXPECT_TRUE(pow.takes(0, ElementType::Field));
  const Schema& concat = *find_schema("", "Concat", 13);
  EXPECT_TRUE(concat.takes(7, ElementType::Int8));  // as all before it
  EXPECT_EQ(concat.first_of_type(7), 0);
  EXPECT_EQ(pow.first_of_type(1), 1);
  EXPECT_EQ(find_schema("", "Where", 16)->first_of_type(2), 1);
}

TEST(Schemas, KnowTheRuntimesOwnOperators) {
  EXPECT_EQ(find_schema("com.microsoft", "FusedMatMul", 1), nullptr);
  const Schema& product = *find_runtime_schema("com.microsoft", "FusedMatMul", 1);
  EXPECT_EQ(product.attribute("alpha")->type, AttributeType::Float);
  EXPECT_FALSE(product.attribute("mode").has_value());
  EXPECT_FALSE(product.takes(0, ElementType::Int32));
  EXPECT_EQ(find_runtime_schema("com.microsoft", "NoSuchOperator", 1), nullptr);
}

std::string fault_of(std::string_view op, int version, std::vector<CallForm::Given> attributes,
                     std::vector<bool> inputs = {true}, std::string_view domain = "") {
  const auto fault = find_fault({.domain = domain,
                                 .op = op,
                                 .version = version,
                                 .inputs = std::move(inputs),
                                 .outputs = 1,
                                 .attributes = std::move(attributes)});
  return fault ? fault->attribute + ": " + fault->message : "";
}

TEST(Schemas, FindWhatOfACallIsNotAsTheyHaveIt) {
  const std::uint32_t ints = types_of(std::vector<std::int64_t>{1}), real = types_of(1.0f);
  EXPECT_EQ(fault_of("Relu", 18, {}), "");
  EXPECT_EQ(fault_of("ReduceMean", 13, {{"axes", ints}}), "");
  EXPECT_EQ(fault_of("ReduceMean", 18, {{"axes", ints}}), "axes: is unknown to ReduceMean of version 18");
  EXPECT_EQ(fault_of("ReduceMean", 13, {{"axes", real}}), "axes: must be ints, is a float");
  EXPECT_EQ(fault_of("Concat", 18, {}), "axis: is missing, and Concat needs it");
  EXPECT_EQ(fault_of("Relu", 18, {}, {true, true}), ": has 2 inputs where Relu of version 14 takes 1");
  EXPECT_EQ(fault_of("Relu", 18, {}, {false}), ": lacks input 0, which Relu needs");
  EXPECT_NE(fault_of("Frobnicate", 18, {}), "");
  EXPECT_EQ(fault_of("Frobnicate", 1, {{"banana", real}}, {}, "com.acme"), "");
  EXPECT_EQ(fault_of("LayerNormalization", 11, {{"epsilon", real}}, {true, true}), "");
  EXPECT_NE(fault_of("LayerNormalization", 11, {{"banana", real}}, {true, true}), "");
}

TEST(Schemas, TakeTheLongNameOfTheStandardDomain) {
  EXPECT_EQ(normal_domain("ai.onnx"), "");
  EXPECT_EQ(normal_domain("ai.onnx.ml"), "ai.onnx.ml");
}

}  // namespace
}  // namespace isomer
