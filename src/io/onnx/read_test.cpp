#include "io/onnx/read.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "io/onnx/test_models.h"

namespace isomer::wire {
namespace {

using ::testing::HasSubstr;

// ---- the wire ----
TEST(Wire, ReadsASmallModel) {
  const auto model = read(relu_model());
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->ir_version, 8);
  EXPECT_EQ(model->node_count, 1u);
  EXPECT_EQ(model->graph.opset(""), 17);
  ASSERT_EQ(model->graph.inputs().size(), 1u);
  EXPECT_EQ(model->graph.name_of(model->graph.inputs()[0]), "x");
  EXPECT_EQ(model->graph.name_of(model->graph.outputs()[0]), "y");
}

TEST(Wire, RefusesEveryPrefixOfAModelButTheWhole) {
  const std::string bytes = add_model(float_tensor("w", {1, 2, 3, 4})).SerializeAsString();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto model = read_bytes(std::string_view(bytes).substr(0, size));
    EXPECT_FALSE(model.ok()) << size << " of " << bytes.size() << " bytes";
  }
  EXPECT_TRUE(read_bytes(bytes).ok());
}

TEST(Wire, RefusesTrailingGarbage) {
  EXPECT_FALSE(read_bytes(relu_model().SerializeAsString() + std::string(64, '\xff')).ok());
}

TEST(Wire, RefusesMessagesNestedDeeperThanAHundred) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(1);
  for (int depth = 0; depth < 60; ++depth) {
    onnx::TypeProto outer;
    *outer.mutable_sequence_type()->mutable_elem_type() = type;
    type = outer;
  }
  onnx::ModelProto model = relu_model();
  auto& input = *model.mutable_graph()->add_input();
  input.set_name("s");
  *input.mutable_type() = type;
  EXPECT_THAT(refusal(model), HasSubstr("nested deeper"));
}

TEST(Wire, KeepsUnknownFields) {
  std::string bytes = relu_model().SerializeAsString();
  bytes += std::string(
      "\xc2\x3e\x03"
      "abc",
      6);  // field 1000
  EXPECT_TRUE(read_bytes(bytes).ok());
}

TEST(Wire, RefusesWhatIsNoRegularFileWithoutWaitingForIt) {
  const ScratchDirectory box;
  ASSERT_EQ(::mkfifo((box / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(read_model(box / "pipe").error().message, HasSubstr("not a regular file"));
  EXPECT_THAT(read_model(box.path()).error().message, HasSubstr("not a regular file"));
  EXPECT_THAT(read_model(box / "missing").error().message, HasSubstr("No such file"));
}

TEST(Wire, FollowsALinkToTheModelItself) {
  const ScratchDirectory box;
  box.write("model.onnx", relu_model());
  std::filesystem::create_symlink("model.onnx", box / "link.onnx");
  EXPECT_TRUE(read_model(box / "link.onnx").ok());
}

// ---- versions ----
TEST(Versions, OutsideTheKnownRangeNameTheNewestKnown) {
  for (const std::int64_t opset : {-1, 0, 6, 29, 9999}) {
    onnx::ModelProto model = relu_model();
    model.mutable_opset_import(0)->set_version(opset);
    EXPECT_THAT(refusal(model), HasSubstr("28")) << opset;
  }
  for (const std::int64_t ir : {0, 2, 15, 9999}) {
    onnx::ModelProto model = relu_model();
    model.set_ir_version(ir);
    EXPECT_THAT(refusal(model), HasSubstr("14")) << ir;
  }
  for (const std::int64_t opset : {7, 28}) {
    onnx::ModelProto model = relu_model();
    model.mutable_opset_import(0)->set_version(opset);
    EXPECT_EQ(refusal(model), "") << opset;
  }
}

TEST(Versions, OfOneDomainAreOne) {
  onnx::ModelProto model = relu_model();
  model.add_opset_import()->set_version(17);
  EXPECT_EQ(refusal(model), "");  // said twice
  model.add_opset_import()->set_version(7);
  EXPECT_THAT(refusal(model), HasSubstr("one domain has one version"));
}

TEST(Versions, OfAUsedDomainMustBeImported) {
  onnx::ModelProto model = relu_model();
  model.mutable_graph()->mutable_node(0)->set_domain("com.acme");
  EXPECT_THAT(refusal(model), HasSubstr("no opset import"));
}

// ---- inputs ----
TEST(Inputs, WithAnInitializerAreOverridableSinceIr4) {
  onnx::ModelProto model = add_model(float_tensor("w", {1, 2, 3, 4}));
  set_type(*model.mutable_graph()->add_input(), "w", {4});
  auto read_back = read(model);
  ASSERT_TRUE(read_back.ok()) << read_back.error().message;
  ASSERT_EQ(read_back->graph.inputs().size(), 2u);
  EXPECT_TRUE(read_back->graph.is_overridable(read_back->graph.inputs()[1].node));
  model.set_ir_version(3);
  read_back = read(model);
  ASSERT_TRUE(read_back.ok());
  EXPECT_EQ(read_back->graph.inputs().size(), 1u);
}

TEST(Inputs, KeepTheNamesOfTheirDimensions) {
  onnx::ModelProto model = relu_model();
  auto& shape =
      *model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.mutable_dim(0)->set_dim_param("batch");
  shape.add_dim();
  shape.add_dim()->set_dim_value(-1);
  const auto read_back = read(model);
  ASSERT_TRUE(read_back.ok());
  const DeclaredType& declared = read_back->graph.node(read_back->graph.inputs()[0].node).declared;
  ASSERT_EQ(declared.shape->size(), 3u);
  EXPECT_EQ(declared.shape->at(0)->text(), "batch");
  EXPECT_FALSE(declared.shape->at(1).has_value());
  EXPECT_FALSE(declared.shape->at(2).has_value());
}

}  // namespace
}  // namespace isomer::wire
