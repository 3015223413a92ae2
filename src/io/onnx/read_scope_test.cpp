#include "io/onnx/read_scope.h"

#include <gmock/gmock.h>

#include "io/onnx/test_models.h"

namespace isomer::wire {
namespace {

using ::testing::HasSubstr;

// ---- names ----
TEST(Names, AreDefinedOnceAndBeforeTheyAreRead) {
  onnx::ModelProto cycle = empty_model();
  add_node(cycle, "Add", {"x", "y"}, {"a"});
  add_node(cycle, "Relu", {"a"}, {"y"});
  add_output(cycle, "y");
  EXPECT_THAT(refusal(cycle), HasSubstr("reads 'y', which nothing before it defines"));

  onnx::ModelProto twice = relu_model();
  add_node(twice, "Neg", {"x"}, {"y"});
  EXPECT_THAT(refusal(twice), HasSubstr("defines 'y', which is defined already"));

  onnx::ModelProto missing = relu_model();
  missing.mutable_graph()->mutable_output(0)->set_name("z");
  EXPECT_THAT(refusal(missing), HasSubstr("output 'z' is defined by no node"));

  onnx::ModelProto initializers = add_model(float_tensor("w", {1, 2, 3, 4}));
  *initializers.mutable_graph()->add_initializer() = float_tensor("w", {1, 2, 3, 4});
  EXPECT_THAT(refusal(initializers), HasSubstr("two initializers 'w'"));

  onnx::ModelProto inputs = relu_model();
  set_type(*inputs.mutable_graph()->add_input(), "x", {4});
  EXPECT_THAT(refusal(inputs), HasSubstr("two inputs 'x'"));
}

TEST(Names, AreShownPrintableAndShort) {
  onnx::ModelProto model = relu_model();
  model.mutable_graph()->mutable_node(0)->set_op_type("\x1b[2J\n" + std::string(100'000, 'n'));
  const std::string message = refusal(model);
  EXPECT_LT(message.size(), 500u);
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
  EXPECT_THAT(message, HasSubstr("\\x1b[2J\\x0a"));
}

TEST(Names, AreUtf8) {
  for (const std::string bad : {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    onnx::ModelProto model = relu_model();
    model.mutable_graph()->mutable_node(0)->set_name(bad);
    EXPECT_THAT(refusal(model), HasSubstr("not valid UTF-8"));
  }
  onnx::ModelProto model = relu_model();
  model.mutable_graph()->mutable_node(0)->set_name("入力/x:0 é 🙂");
  EXPECT_EQ(refusal(model), "");
}

// ---- bodies ----
// y = If(c): Relu(inner) else Neg(inner), where each branch may be changed before it is read.
struct IfModel {
  onnx::ModelProto model = empty_model();
  onnx::NodeProto* node = nullptr;
  onnx::GraphProto *then_branch = nullptr, *else_branch = nullptr;

  IfModel() {
    set_type(*model.mutable_graph()->add_input(), "c", {}, onnx::TensorProto::BOOL);
    add_node(model, "Exp", {"x"}, {"h"});
    node = &add_node(model, "If", {"c"}, {"y"});
    then_branch = &add_body(*node, "then_branch");
    else_branch = &add_body(*node, "else_branch");
    // Pointers stay: a repeated field of messages holds pointers.
    then_branch = node->mutable_attribute(0)->mutable_g();
    add_node(then_branch->mutable_node(), "Relu", {"h"}, {"t"});
    then_branch->add_output()->set_name("t");
    add_node(else_branch->mutable_node(), "Neg", {"x"}, {"e"});
    else_branch->add_output()->set_name("e");
    add_output(model, "y");
  }
};

TEST(Bodies, CaptureOuterValues) {
  const IfModel built;
  const auto model = read(built.model);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const Graph& graph = model->graph;
  std::vector<std::string> captured;
  for (const Value& value : graph.node(graph.outputs()[0].node).captures)
    captured.push_back(graph.name_of(value));
  EXPECT_EQ(captured, (std::vector<std::string>{"h", "x"}));
}

TEST(Bodies, OfBodiesCaptureThroughAllLevels) {
  IfModel built;
  onnx::NodeProto& inner = add_node(built.then_branch->mutable_node(), "If", {"c"}, {"deep"});
  for (const std::string branch : {"then_branch", "else_branch"}) {
    onnx::GraphProto& body = add_body(inner, branch);
    add_node(body.mutable_node(), "Add", {"h", "t"},
             {branch});  // h from the main graph, t from the outer branch
    body.add_output()->set_name(branch);
  }
  built.else_branch->mutable_node(0)->set_input(0, "h");
  const auto model = read(built.model);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const Graph& graph = model->graph;
  std::vector<std::string> captured;
  for (const Value& value : graph.node(graph.outputs()[0].node).captures)
    captured.push_back(graph.name_of(value));
  EXPECT_EQ(captured, (std::vector<std::string>{"c", "h"}));
}

TEST(Bodies, AreCheckedLikeTheMainGraph) {
  IfModel unknown;
  unknown.then_branch->mutable_node(0)->set_op_type("Frobnicate");
  EXPECT_THAT(refusal(unknown.model), HasSubstr("Frobnicate"));

  IfModel undefined;
  undefined.else_branch->mutable_node(0)->set_input(0, "ghost");
  EXPECT_THAT(refusal(undefined.model), HasSubstr("reads 'ghost'"));

  IfModel later;  // what needs the node's output can't be visible in it
  add_node(later.model, "Relu", {later.model.graph().output(0).name()}, {"after"});
  later.else_branch->mutable_node(0)->set_input(0, "after");
  EXPECT_THAT(refusal(later.model), HasSubstr("reads 'after'"));

  IfModel hiding;
  hiding.then_branch->mutable_node(0)->set_output(0, "h");
  EXPECT_THAT(refusal(hiding.model), HasSubstr("defines 'h', which is defined already"));

  IfModel leaking;  // a body's names end with it
  leaking.else_branch->mutable_node(0)->set_input(0, "t");
  EXPECT_THAT(refusal(leaking.model), HasSubstr("reads 't'"));

  IfModel tensor;
  *tensor.then_branch->add_initializer() = float_tensor("k", {1});
  tensor.then_branch->mutable_initializer(0)->set_raw_data("short");
  EXPECT_THAT(refusal(tensor.model), HasSubstr("tensor 'k' has 5 bytes"));
}

TEST(Bodies, GiveAsManyOutputsAsTheNodeHas) {
  IfModel built;
  built.else_branch->mutable_output()->Clear();
  EXPECT_THAT(refusal(built.model),
              HasSubstr("attribute 'else_branch' has a body of 0 outputs where the node needs 1"));
}

TEST(Bodies, MayNameTheirInitializersAlike) {
  IfModel built;
  for (onnx::GraphProto* branch : {built.then_branch, built.else_branch}) {
    *branch->add_initializer() = float_tensor("k", {1});
    branch->mutable_node(0)->set_op_type("Mul");
    branch->mutable_node(0)->add_input("k");
  }
  EXPECT_EQ(refusal(built.model), "");
}

}  // namespace
}  // namespace isomer::wire
