#include "io/onnx/read_functions.h"

#include <gmock/gmock.h>

#include "io/onnx/test_models.h"

namespace isomer::wire {
namespace {

using ::testing::HasSubstr;

onnx::FunctionProto& add_function(onnx::ModelProto& model, const std::string& name) {
  onnx::FunctionProto& function = *model.add_functions();
  function.set_domain("loc");
  function.set_name(name);
  function.add_input("a");
  function.add_output("b");
  function.add_opset_import()->set_version(17);
  auto& import = *function.add_opset_import();
  import.set_domain("loc");
  import.set_version(1);
  return function;
}

onnx::ModelProto calling_model(const std::string& name) {
  onnx::ModelProto model = relu_model();
  auto& import = *model.add_opset_import();
  import.set_domain("loc");
  import.set_version(1);
  onnx::NodeProto& node = *model.mutable_graph()->mutable_node(0);
  node.set_domain("loc");
  node.set_op_type(name);
  return model;
}

void call(onnx::FunctionProto& function, const std::string& callee, const std::string& in,
          const std::string& out) {
  add_node(function.mutable_node(), callee, {in}, {out}).set_domain("loc");
}

TEST(Functions, AreKeptByName) {
  onnx::ModelProto model = calling_model("f");
  add_node(add_function(model, "f").mutable_node(), "Neg", {"a"}, {"b"});
  const auto read_back = read(model);
  ASSERT_TRUE(read_back.ok()) << read_back.error().message;
  EXPECT_TRUE(read_back->graph.functions->contains({"loc", "f"}));
}

TEST(Functions, MayNotCallThemselves) {
  onnx::ModelProto model = calling_model("f");
  call(add_function(model, "f"), "g", "a", "b");
  call(add_function(model, "g"), "h", "a", "b");
  call(add_function(model, "h"), "f", "a", "b");
  EXPECT_THAT(refusal(model), HasSubstr("calls itself"));
}

TEST(Functions, ThatShareACalleeAreNoRecursion) {
  onnx::ModelProto model = calling_model("f");
  onnx::FunctionProto& f = add_function(model, "f");
  call(f, "g", "a", "m");
  call(f, "h", "m", "b");
  call(add_function(model, "g"), "h", "a", "b");
  add_node(add_function(model, "h").mutable_node(), "Neg", {"a"}, {"b"});
  EXPECT_EQ(refusal(model), "");
}

TEST(Functions, ThatMultiplyAreCountedBeforeTheyAreInlined) {
  onnx::ModelProto model = calling_model("f0");
  for (int level = 0; level < 64; ++level) {
    onnx::FunctionProto& function = add_function(model, "f" + std::to_string(level));
    const std::string callee = "f" + std::to_string(level + 1);
    call(function, callee, "a", "m");
    call(function, callee, "m", "b");
  }
  add_node(add_function(model, "f64").mutable_node(), "Neg", {"a"}, {"b"});
  EXPECT_THAT(refusal(model), HasSubstr("2^64 nodes once its functions are inlined"));
}

TEST(Functions, OfALongChainNeedNoStack) {
  onnx::ModelProto model = calling_model("f0");
  constexpr int kLength = 20'000;
  for (int level = 0; level < kLength; ++level) {
    call(add_function(model, "f" + std::to_string(level)), "f" + std::to_string(level + 1), "a", "b");
  }
  add_node(add_function(model, "f" + std::to_string(kLength)).mutable_node(), "Neg", {"a"}, {"b"});
  EXPECT_EQ(refusal(model), "");
}

TEST(Functions, MayNotRedefineTheStandard) {
  onnx::ModelProto model = relu_model();
  onnx::FunctionProto& function = add_function(model, "Relu");
  function.set_domain("ai.onnx");
  add_node(function.mutable_node(), "Neg", {"a"}, {"b"});
  EXPECT_THAT(refusal(model), HasSubstr("name of a standard operator"));
}

TEST(Functions, MayReferToTheirAttributesAndNobodyElse) {
  onnx::ModelProto model = calling_model("f");
  onnx::FunctionProto& function = add_function(model, "f");
  onnx::NodeProto& node = add_node(function.mutable_node(), "LeakyRelu", {"a"}, {"b"});
  auto& reference = *node.add_attribute();
  reference.set_name("alpha");
  reference.set_type(onnx::AttributeProto::FLOAT);
  reference.set_ref_attr_name("alpha");
  function.add_attribute("alpha");
  EXPECT_EQ(refusal(model), "");
  onnx::NodeProto& outside = add_node(model, "LeakyRelu", {"x"}, {"z"});
  *outside.add_attribute() = reference;
  EXPECT_THAT(refusal(model), HasSubstr("is in no function"));
}

}  // namespace
}  // namespace isomer::wire
