#include "io/onnx/read_node.h"

#include <gmock/gmock.h>

#include "io/onnx/test_models.h"

namespace isomer::wire {
namespace {

using ::testing::HasSubstr;

TEST(Nodes, OfUnknownOperatorsAreRefusedInStandardDomainsOnly) {
  onnx::ModelProto model = relu_model();
  onnx::NodeProto& node = *model.mutable_graph()->mutable_node(0);
  node.set_name("strange");
  node.set_op_type("Frobnicate");
  const auto refused = read(model);
  EXPECT_EQ(refused.error().node, "strange");
  EXPECT_THAT(refused.error().message, HasSubstr("'Frobnicate' is not in opset 17"));
  node.set_domain("com.acme");
  auto& import = *model.add_opset_import();
  import.set_domain("com.acme");
  import.set_version(1);
  add_attribute(node, "anything", 1);
  EXPECT_EQ(refusal(model), "");
}

TEST(Nodes, NeedAsManyInputsAsTheirOperator) {
  onnx::ModelProto model = relu_model();
  onnx::NodeProto& node = *model.mutable_graph()->mutable_node(0);
  node.add_input("x");
  EXPECT_THAT(refusal(model), HasSubstr("has 2 inputs where Relu of version 14 takes 1"));
  node.mutable_input()->Clear();
  EXPECT_THAT(refusal(model), HasSubstr("has 0 inputs"));
  node.add_input("");
  EXPECT_THAT(refusal(model), HasSubstr("lacks input 0"));
}

TEST(Nodes, MayLeaveOutOptionalInputs) {
  onnx::ModelProto model = empty_model();
  add_node(model, "Clip", {"x", "", ""}, {"y"});
  add_output(model, "y");
  const auto read_back = read(model);
  ASSERT_TRUE(read_back.ok()) << read_back.error().message;
  const Node& clip = read_back->graph.node(read_back->graph.outputs()[0].node);
  ASSERT_EQ(clip.inputs.size(), 3u);
  EXPECT_FALSE(clip.inputs[1].exists());
}

TEST(Nodes, NeedTheAttributesThatTheirOperatorHas) {
  onnx::ModelProto model = empty_model();
  onnx::NodeProto& node = add_node(model, "Concat", {"x", "x"}, {"y"});
  add_output(model, "y");
  auto refused = read(model);
  EXPECT_EQ(refused.error().attribute, "axis");
  EXPECT_THAT(refused.error().message, HasSubstr("is missing"));
  add_attribute(node, "axis", 0);
  EXPECT_EQ(refusal(model), "");
  add_attribute(node, "axes", 0);
  EXPECT_THAT(refusal(model), HasSubstr("attribute 'axes' is unknown"));
  node.mutable_attribute(1)->set_name("axis");
  EXPECT_THAT(refusal(model), HasSubstr("attribute 'axis' is given twice"));
  node.mutable_attribute()->RemoveLast();
  node.mutable_attribute(0)->set_type(onnx::AttributeProto::FLOAT);
  EXPECT_THAT(refusal(model), HasSubstr("says it is a float but holds an int"));
  node.mutable_attribute(0)->clear_i();
  node.mutable_attribute(0)->set_f(1);
  EXPECT_THAT(refusal(model), HasSubstr("must be an int, is a float"));
  node.mutable_attribute(0)->set_i(1);
  EXPECT_THAT(refusal(model), HasSubstr("more than one value"));
}

TEST(Nodes, KeepEveryKindOfAttribute) {
  onnx::ModelProto model = empty_model();
  onnx::NodeProto& node = add_node(model, "Foo", {"x"}, {"y"});
  node.set_domain("com.acme");
  auto& import = *model.add_opset_import();
  import.set_domain("com.acme");
  import.set_version(1);
  add_output(model, "y");
  add_attribute(node, "number", 7);
  auto& tensor = *node.add_attribute();
  tensor.set_name("tensor");
  tensor.set_type(onnx::AttributeProto::TENSOR);
  *tensor.mutable_t() = float_tensor("", {1, 2});
  auto& texts = *node.add_attribute();
  texts.set_name("texts");
  texts.set_type(onnx::AttributeProto::STRINGS);
  texts.add_strings("a");
  auto& type = *node.add_attribute();
  type.set_name("type");
  type.set_type(onnx::AttributeProto::TYPE_PROTO);
  type.mutable_tp()->mutable_tensor_type()->set_elem_type(1);
  const auto read_back = read(model);
  ASSERT_TRUE(read_back.ok()) << read_back.error().message;
  const Attributes& attributes = read_back->graph.node(read_back->graph.outputs()[0].node).attributes;
  EXPECT_EQ(*attributes.find_as<std::int64_t>("number"), 7);
  EXPECT_EQ(attributes.find_as<Tensor>("tensor")->as<float>()[1], 2.0f);
  EXPECT_EQ(attributes.find_as<std::vector<std::string>>("texts")->front(), "a");
  EXPECT_FALSE(attributes.find_as<RawAttribute>("type")->bytes.empty());
}

}  // namespace
}  // namespace isomer::wire
