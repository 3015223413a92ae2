#include "io/onnx/choose_by_size.h"

#include <algorithm>
#include <fstream>

#include "io/onnx/test_models.h"

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

const onnx::GraphProto& branch(const onnx::NodeProto& node, const std::string& name) {
  const auto at = std::ranges::find(node.attribute(), name, [](const auto& a) { return a.name(); });
  EXPECT_NE(at, node.attribute().end()) << name;
  return at->g();
}

// A model for every size, which has its sizes as another input.
onnx::ModelProto open_scaling() {
  onnx::ModelProto model = scaling(7, 0);
  set_type(*model.mutable_graph()->add_input(), "numbers", {1});
  return model;
}

TEST(ChooseBySize, TakesTheCasesInTheirOrder) {
  const ScratchDirectory folder;
  const SizeChoice choice{.domain = "own",
                          .op = "which",
                          .inputs = {"x"},
                          .cases = {folder.write("three.onnx", scaling(3, 3)), std::nullopt,
                                    folder.write("open.onnx", open_scaling())},
                          .has_sizes = true};
  const auto out = folder / "out.onnx";
  ASSERT_TRUE(write_choice(folder.write("other.onnx", scaling(1, 0)), choice, out).ok());
  onnx::ModelProto model;
  std::ifstream bytes(out, std::ios::binary);
  ASSERT_TRUE(model.ParseFromIstream(&bytes));
  const onnx::GraphProto& graph = model.graph();
  ASSERT_EQ(graph.node_size(), 2);
  EXPECT_EQ(graph.node(0).domain() + "." + graph.node(0).op_type(), "own.which");
  // A case that is not taken has its output all the same; sizes go where the last model reads them.
  EXPECT_EQ(std::vector<std::string>(graph.node(0).output().begin(), graph.node(0).output().end()),
            (std::vector<std::string>{"size 0", "size 1", "size 2", "numbers"}));
  const onnx::NodeProto& first = graph.node(1);
  EXPECT_EQ(first.op_type() + " " + first.input(0), "If size 0");
  EXPECT_EQ(branch(first, "then_branch").initializer(0).float_data(0), 3);
  for (const char* name : {"then_branch", "else_branch"})
    EXPECT_FALSE(branch(first, name).output(0).type().tensor_type().has_shape())
        << "it may be declared wrongly";
  const onnx::GraphProto& rest = branch(first, "else_branch");
  ASSERT_EQ(rest.node_size(), 1);
  EXPECT_EQ(rest.node(0).input(0), "size 2");
  EXPECT_EQ(branch(rest.node(0), "then_branch").initializer(0).float_data(0), 7);
  EXPECT_EQ(branch(rest.node(0), "else_branch").initializer(0).float_data(0), 1);
  EXPECT_EQ(graph.input_size(), 1) << "users give the inputs of the model, and no sizes";
}

TEST(ChooseBySize, RefusesOtherOperatorSets) {
  const ScratchDirectory folder;
  onnx::ModelProto sized = scaling(3, 3);
  sized.mutable_opset_import(0)->set_version(18);
  const auto status = write_choice(
      folder.write("other.onnx", scaling(1, 0)),
      {.domain = "own", .op = "which", .inputs = {"x"}, .cases = {folder.write("three.onnx", sized)}},
      folder / "out.onnx");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "operator sets 13 and 18 in one model");
  EXPECT_FALSE(std::filesystem::exists(folder / "out.onnx"));
}

}  // namespace
}  // namespace isomer::wire
