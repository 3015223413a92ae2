#include "io/onnx/program.h"

#include <gmock/gmock.h>

#include "io/onnx/test_models.h"
#include "model/graph/testing.h"
#include "model/graph/text/text.h"

namespace isomer::wire {
namespace {

using ::testing::HasSubstr;

std::string refusal(const onnx::ModelProto& model) {
  const auto read = read_program(model.SerializeAsString());
  return read.ok() ? "" : read.error().message;
}

// The text has all that a program is but for the graph's own name.
TEST(Program, SurvivesItsBytes) {
  for (const std::string program : {
           "(float[N, 3] x) => (float[N, 3] y) { y = Relu (x) }",
           "(x, \"a name/of.a:value\") => (y, x) { y = Add (x, \"a name/of.a:value\") }",
           ("(float[\"2*N\", \"a b\"] x, int64[] i) => (y) <float[2] c = {1, -0.0}, string[1] s = {\"t\"}> "
            "{ y = Conv <pads = [1, 1], group = 1, auto_pad = \"NOTSET\"> (x, c) }"),
           "(double x) => (y) { a, , b = Split <axis = 0, num_outputs = 3> (x)\n y = Clip (a, , b) }",
           "(float16[0, ?] x) => (y) { y = com.microsoft.Gelu (x)\n z = some.where.f : o (y) }",
           "(x) => (y) { y = Constant <value_floats = [1.5]> ()\n [n] z = Reshape <allowzero = 1> (x, y) }",
       }) {
    const Graph graph = testing::parsed(
        "<ir_version: 8, opset_import: [\"\" : 18, \"com.microsoft\" : 1, \"some.where\" : 7]>\ng " +
        program);
    const auto bytes = write_program(graph);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    const auto read = read_program(*bytes);
    ASSERT_TRUE(read.ok()) << read.error().message << " in " << program;
    EXPECT_EQ(text(*read), text(graph));
    EXPECT_EQ(read->opsets, graph.opsets);
    for (const NodeId id : graph.order()) {
      if (graph.node(id).kind != NodeKind::Input) continue;
      EXPECT_EQ(read->node(id).declared.type, graph.node(id).declared.type);
    }
  }
}

TEST(Program, HasNoDataInOtherFiles) {
  onnx::ModelProto model = add_model(float_tensor("w", {1, 2, 3, 4}));
  EXPECT_EQ(refusal(model), "");
  onnx::TensorProto& tensor = *model.mutable_graph()->mutable_initializer(0);
  tensor.clear_float_data();
  tensor.clear_raw_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  auto& entry = *tensor.add_external_data();
  entry.set_key("location");
  entry.set_value("w.bin");
  EXPECT_THAT(refusal(model), HasSubstr("no other file may be"));
}

// A body would be read with the opsets of the program, and a function would hide the model's own.
TEST(Program, HasNeitherFunctionsNorSubgraphs) {
  onnx::ModelProto model = relu_model();
  onnx::FunctionProto& function = *model.add_functions();
  function.set_domain("loc");
  function.set_name("f");
  function.add_opset_import()->set_version(17);
  EXPECT_THAT(refusal(model), HasSubstr("no functions"));

  model = relu_model();
  onnx::NodeProto& node = *model.mutable_graph()->add_node();
  node.set_op_type("If");
  node.add_input(model.graph().node(0).output(0));
  node.add_output("chosen");
  for (const char* branch : {"then_branch", "else_branch"}) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(branch);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    onnx::NodeProto& inner = *attribute.mutable_g()->add_node();
    inner.set_op_type("Identity");
    inner.add_input(model.graph().node(0).output(0));
    inner.add_output(branch);
    attribute.mutable_g()->set_name(branch);
    attribute.mutable_g()->add_output()->set_name(branch);
  }
  EXPECT_THAT(refusal(model), HasSubstr("has a subgraph"));
}

TEST(Program, IsReadWholeOrNotAtAll) {
  const std::string bytes = relu_model().SerializeAsString();
  EXPECT_TRUE(read_program(bytes).ok());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(read_program(std::string_view(bytes).substr(0, size)).ok()) << size;
}

}  // namespace
}  // namespace isomer::wire
