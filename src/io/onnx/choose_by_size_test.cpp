#include "io/onnx/choose_by_size.h"

#include "io/onnx/model.h"
#include "io/onnx/test_models.h"
#include "model/graph/interpret.h"

namespace isomer::wire {
namespace {

// y = x * factor, with `factor` a constant; the sizes of x are 2 and another one, which 0 leaves open.
onnx::ModelProto scaling(float factor, std::int64_t size, const std::string& op = "Mul") {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(13);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("scaling");
  set_type(*graph.add_input(), "x", {2, size});
  set_type(*graph.add_output(), "y", {2, size});
  if (size == 0)
    for (auto* info : {graph.mutable_input(0), graph.mutable_output(0)})
      info->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_param("n");
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name("factor");
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_float_data(factor);
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  node.add_input("x");
  if (op == "Mul") node.add_input("factor");
  node.add_output("y");
  return model;
}

double first_element(const Model& model, std::int64_t size) {
  const auto elements = static_cast<std::size_t>(2 * size);
  const auto outputs = interpret(
      model.graph, {{"x", Tensor::of(ElementType::Float, {2, size}, std::vector<float>(elements, 1))}});
  EXPECT_TRUE(outputs.ok()) << outputs.error().message;
  return outputs.ok() ? outputs->outputs.at("y").doubles()->at(0) : 0;
}

TEST(ChooseBySize, RunsTheModelOfTheSizesOfACall) {
  const ScratchDirectory folder;
  const auto other = folder.write("other.onnx", scaling(1, 0));
  const std::vector<SizedFile> cases{{folder.write("three.onnx", scaling(3, 3)), {{"x", {2, 3}}}},
                                     {folder.write("five.onnx", scaling(5, 5)), {{"x", {2, 5}}}}};
  ASSERT_TRUE(write_choice(other, cases, folder / "out.onnx").ok());
  const auto model = read_model(folder / "out.onnx");
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(first_element(*model, 3), 3);
  EXPECT_EQ(first_element(*model, 5), 5);
  EXPECT_EQ(first_element(*model, 4), 1);
}

TEST(ChooseBySize, RefusesOtherOperatorSets) {
  const ScratchDirectory folder;
  onnx::ModelProto sized = scaling(3, 3);
  sized.mutable_opset_import(0)->set_version(18);
  const auto status =
      write_choice(folder.write("other.onnx", scaling(1, 0)),
                   {{folder.write("three.onnx", sized), {{"x", {2, 3}}}}}, folder / "out.onnx");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "operator sets 13 and 18 in one model");
  EXPECT_FALSE(std::filesystem::exists(folder / "out.onnx"));
}

}  // namespace
}  // namespace isomer::wire
