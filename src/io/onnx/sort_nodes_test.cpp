#include "io/onnx/sort_nodes.h"

#include <gtest/gtest.h>

#include "io/onnx/test_models.h"

namespace isomer::wire {
namespace {

std::string order_of(const onnx::ModelProto& model) {
  std::string out;
  for (const auto& node : model.graph().node()) out += node.output(0);
  return out;
}

// As converters to float16 leave it: the casts of inputs are the last nodes.
TEST(SortNodes, PutsWhatIsReadBeforeItsReaders) {
  onnx::ModelProto model = empty_model();
  add_node(model, "Add", {"b", "c"}, {"d"});
  add_node(model, "Relu", {"d"}, {"e"});
  add_node(model, "Neg", {"a"}, {"c"});
  add_node(model, "Neg", {"x"}, {"a"});
  add_node(model, "Relu", {"x"}, {"b"});
  add_output(model, "e");
  EXPECT_TRUE(sort_nodes(*model.mutable_graph()));
  EXPECT_EQ(order_of(model), "bacde");
  EXPECT_FALSE(sort_nodes(*model.mutable_graph()));
}

TEST(SortNodes, FollowsWhatBodiesCapture) {
  onnx::ModelProto model = empty_model();
  onnx::NodeProto& choice = *model.mutable_graph()->add_node();
  choice.set_op_type("If");
  choice.add_input("c");
  choice.add_output("y");
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::GraphProto& body = add_body(choice, name);
    add_node(body.mutable_node(), "Relu", {"a"}, {name});
    body.add_output()->set_name(name);
  }
  add_node(model, "Neg", {"x"}, {"a"});
  add_node(model, "Not", {"x"}, {"c"});
  EXPECT_TRUE(sort_nodes(*model.mutable_graph()));
  EXPECT_EQ(order_of(model), "cay");
}

TEST(SortNodes, LeavesACycleAsItIs) {
  onnx::ModelProto model = empty_model();
  add_node(model, "Add", {"c", "b"}, {"a"});
  add_node(model, "Relu", {"a"}, {"b"});
  add_node(model, "Neg", {"x"}, {"c"});
  EXPECT_FALSE(sort_nodes(*model.mutable_graph()));
  EXPECT_EQ(order_of(model), "abc");
}

TEST(SortNodes, IsDoneBeforeAModelIsRead) {
  onnx::ModelProto model = empty_model();
  add_node(model, "Relu", {"a"}, {"y"});
  add_node(model, "Neg", {"x"}, {"a"});
  add_output(model, "y");
  const auto read = read_bytes(model.SerializeAsString());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->graph.operator_count(), 2u);
}

}  // namespace
}  // namespace isomer::wire
