#include "io/onnx/read_body.h"

#include <gmock/gmock.h>

#include "io/onnx/test_models.h"
#include "model/graph/flatten.h"
#include "model/graph/interpret.h"
#include "model/graph/same.h"

namespace isomer::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Graph graph_of(const onnx::ModelProto& model) {
  auto read_back = read(model);
  if (!read_back.ok()) throw std::runtime_error(read_back.error().message);
  return read_back->graph;
}

std::vector<double> run(const Graph& graph, const NamedTensors& feeds, std::string_view output = "y") {
  const auto done = interpret(graph, feeds);
  if (!done.ok()) throw std::runtime_error(done.error().message);
  if (done->opaque) throw std::runtime_error(done->opaque->reason);
  return *done->outputs.find(output)->second.doubles();
}

Tensor floats(const std::vector<float>& values) {
  return Tensor::of(ElementType::Float, {static_cast<std::int64_t>(values.size())}, values);
}
const NamedTensors kFeeds{{"x", floats({1, -2, 3, -4})}};

std::vector<std::string> operators(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodeId id : graph.order())
    if (graph.node(id).kind == NodeKind::Operator) names.push_back(graph.node(id).op);
  return names;
}

// y = f(x), f(a) = LeakyRelu<alpha = slope>(Neg(a))
onnx::ModelProto calling_model(int function_opset = 17) {
  onnx::ModelProto model = empty_model();
  auto& import = *model.add_opset_import();
  import.set_domain("loc");
  import.set_version(1);
  onnx::NodeProto& call = add_node(model, "f", {"x"}, {"y"});
  call.set_domain("loc");
  onnx::AttributeProto& slope = *call.add_attribute();
  slope.set_name("slope");
  slope.set_type(onnx::AttributeProto::FLOAT);
  slope.set_f(0.5f);
  add_output(model, "y");
  onnx::FunctionProto& function = *model.add_functions();
  function.set_domain("loc");
  function.set_name("f");
  function.add_input("a");
  function.add_output("b");
  function.add_attribute("slope");
  function.add_opset_import()->set_version(function_opset);
  add_node(function.mutable_node(), "Neg", {"a"}, {"m"});
  onnx::AttributeProto& alpha = *add_node(function.mutable_node(), "LeakyRelu", {"m"}, {"b"}).add_attribute();
  alpha.set_name("alpha");
  alpha.set_type(onnx::AttributeProto::FLOAT);
  alpha.set_ref_attr_name("slope");
  return model;
}

// Where the attributes of a call were written into a copy of the function, its numbers were those of memory
// that was given back.
TEST(Bodies, ConstantsOfAFunctionOutliveItsReading) {
  onnx::ModelProto model = calling_model();
  onnx::FunctionProto& function = *model.mutable_functions(0);
  const std::vector<float> numbers(4096, 3);
  onnx::NodeProto& constant = add_node(function.mutable_node(), "Constant", {}, {"w"});
  onnx::AttributeProto& value = *constant.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  value.mutable_t()->add_dims(4096);
  value.mutable_t()->set_raw_data(numbers.data(), numbers.size() * sizeof(float));
  add_node(function.mutable_node(), "ReduceMax", {"w"}, {"s"});
  add_node(function.mutable_node(), "Add", {"b", "s"}, {"c"});
  function.set_output(0, "c");
  const auto flat = flatten(graph_of(model));
  ASSERT_TRUE(flat.ok());
  EXPECT_EQ(run(*flat, kFeeds), (std::vector<double>{2.5, 5, 1.5, 7}));
}

// y = c ? Relu(x) : Neg(x), both branches capture x.
onnx::ModelProto branching_model(bool is_known) {
  onnx::ModelProto model = empty_model();
  if (is_known) {
    onnx::TensorProto& c = *model.mutable_graph()->add_initializer();
    c.set_name("c");
    c.set_data_type(onnx::TensorProto::BOOL);
    c.set_raw_data(std::string(1, '\0'));
  } else {
    set_type(*model.mutable_graph()->add_input(), "c", {}, onnx::TensorProto::BOOL);
  }
  onnx::NodeProto& choice = add_node(model, "If", {"c"}, {"y"});
  for (const auto& [branch, op] : {std::pair("then_branch", "Relu"), {"else_branch", "Neg"}}) {
    onnx::GraphProto& body = add_body(choice, branch);
    const std::string result = std::string(op) + "_of_x";
    add_node(body.mutable_node(), op, {"x"}, {result});
    set_type(*body.add_output(), result, {4});
  }
  add_output(model, "y");
  return model;
}

TEST(Bodies, ACallIsWrittenOutWithItsAttributes) {
  const Graph graph = graph_of(calling_model());
  const auto flat = flatten(graph);
  ASSERT_TRUE(flat.ok());
  EXPECT_THAT(operators(*flat), ElementsAre("Neg", "LeakyRelu", "Identity"));
  EXPECT_EQ(run(*flat, kFeeds), (std::vector<double>{-0.5, 2, -1.5, 4}));
  EXPECT_EQ(run(graph, kFeeds), run(*flat, kFeeds));
  EXPECT_THAT(operators(graph), ElementsAre("f"));
}

TEST(Bodies, AFunctionOfAnotherOpsetStaysACallAndRuns) {
  const Graph graph = graph_of(calling_model(16));
  EXPECT_THAT(operators(*flatten(graph)), ElementsAre("f"));
  EXPECT_EQ(run(graph, kFeeds), (std::vector<double>{-0.5, 2, -1.5, 4}));
}

TEST(Bodies, AnIfWhoseConditionIsKnownIsItsBranch) {
  const auto flat = flatten(graph_of(branching_model(true)));
  ASSERT_TRUE(flat.ok());
  EXPECT_THAT(operators(*flat), ElementsAre("Neg", "Identity"));
  EXPECT_EQ(run(*flat, kFeeds), (std::vector<double>{-1, 2, -3, 4}));
}

TEST(Bodies, AnIfWhoseConditionIsFedTakesOneBranch) {
  const Graph graph = graph_of(branching_model(false));
  EXPECT_THAT(operators(*flatten(graph)), ElementsAre("If"));
  NamedTensors feeds = kFeeds;
  feeds["c"] = Tensor::of(ElementType::Bool, {}, std::vector<std::uint8_t>{1});
  EXPECT_EQ(run(graph, feeds), (std::vector<double>{1, 0, 3, 0}));
  feeds["c"] = Tensor::of(ElementType::Bool, {}, std::vector<std::uint8_t>{0});
  EXPECT_EQ(run(graph, feeds), (std::vector<double>{-1, 2, -3, 4}));
}

TEST(Bodies, TheArithmeticOfTheStoredTypesIsFollowedIntoThem) {
  // The square of 3.1622777f is more than 10 in float64, and 10 in float32.
  onnx::ModelProto model = empty_model();
  set_type(*model.mutable_graph()->add_input(), "c", {}, onnx::TensorProto::BOOL);
  add_node(model, "Mul", {"x", "x"}, {"p"});
  onnx::NodeProto& choice = add_node(model, "If", {"c"}, {"y"});
  for (const auto& [branch, op] : {std::pair("then_branch", "Ceil"), {"else_branch", "Neg"}}) {
    onnx::GraphProto& body = add_body(choice, branch);
    const std::string result = std::string(op) + "_of_p";
    add_node(body.mutable_node(), op, {"p"}, {result});
    set_type(*body.add_output(), result, {4});
  }
  add_output(model, "y");
  const Graph graph = graph_of(model);
  const NamedTensors feeds{{"x", floats({3.1622777F, 1, 2, 3})},
                           {"c", Tensor::of(ElementType::Bool, {}, std::vector<std::uint8_t>{1})}};
  const auto first = [&](Arithmetic arithmetic) {
    return interpret(graph, feeds, arithmetic)->outputs.at("y").doubles()->front();
  };
  EXPECT_EQ(first(Arithmetic::Native), 10);
  EXPECT_EQ(first(Arithmetic::Double), 11);
  EXPECT_EQ(first(Arithmetic::Faithful), 10);
}

TEST(Bodies, ShapesAreInferredInsideAndBehindABranch) {
  const Graph graph = graph_of(branching_model(false));
  const auto inference = infer(graph);
  ASSERT_TRUE(inference.ok());
  ASSERT_EQ(inference->bodies.size(), 1u);
  EXPECT_EQ(inference->of(graph.outputs()[0]).shape, (Dims{4}));
}

// n, y, all = Loop(3, true, x): the body doubles what it carries, and collects it.
onnx::ModelProto looping_model(const std::string& op) {
  onnx::ModelProto model = empty_model();
  onnx::TensorProto& count = *model.mutable_graph()->add_initializer();
  count.set_name("count");
  count.set_data_type(onnx::TensorProto::INT64);
  count.add_int64_data(3);
  onnx::NodeProto& loop = add_node(model, "Loop", {"count", "", "x"}, {"y", "all"});
  onnx::GraphProto& body = add_body(loop, "body");
  set_type(*body.add_input(), "i", {}, onnx::TensorProto::INT64);
  set_type(*body.add_input(), "go", {}, onnx::TensorProto::BOOL);
  body.add_input()->set_name("carried");
  body.mutable_input(2)->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  add_node(body.mutable_node(), "Identity", {"go"}, {"on"});
  add_node(body.mutable_node(), "Add", {"carried", "carried"}, {"doubled"});
  if (op == "Concat") {
    add_attribute(add_node(body.mutable_node(), "Concat", {"doubled", "x"}, {"next"}), "axis", 0);
  } else {
    add_node(body.mutable_node(), "Identity", {"doubled"}, {"next"});
  }
  set_type(*body.add_output(), "on", {}, onnx::TensorProto::BOOL);
  for (const char* name : {"next", "doubled"}) {
    body.add_output()->set_name(name);
    body.mutable_output(body.output_size() - 1)->mutable_type()->mutable_tensor_type()->set_elem_type(1);
  }
  for (const char* name : {"y", "all"}) {
    model.mutable_graph()->add_output()->set_name(name);
    model.mutable_graph()
        ->mutable_output(model.graph().output_size() - 1)
        ->mutable_type()
        ->mutable_tensor_type()
        ->set_elem_type(1);
  }
  return model;
}

TEST(Bodies, ALoopRunsAndCollects) {
  const Graph graph = graph_of(looping_model("Identity"));
  EXPECT_EQ(run(graph, kFeeds), (std::vector<double>{8, -16, 24, -32}));
  EXPECT_EQ(run(graph, kFeeds, "all").size(), 12u);
}

TEST(Bodies, WhatALoopCarriesKeepsItsShapeOnlyWhereTheBodyDoes) {
  const Graph keeps = graph_of(looping_model("Identity")), grows = graph_of(looping_model("Concat"));
  const auto kept = infer(keeps);
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->of(keeps.outputs()[0]).shape, (Dims{4}));
  const auto inference = infer(grows);
  ASSERT_TRUE(inference.ok());
  const auto shape = inference->of(grows.outputs()[0]).shape;
  ASSERT_TRUE(shape.has_value());
  EXPECT_FALSE(shape->front().is_concrete());
}

TEST(Bodies, ManyCallsInCallsAreNotWrittenOut) {
  onnx::ModelProto model = calling_model();
  // f0 calls f1 twice, and so on: 2^20 calls.
  for (int k = 0; k < 20; ++k) {
    onnx::FunctionProto& function = *model.add_functions();
    function.set_domain("loc");
    function.set_name("f" + std::to_string(k));
    function.add_input("a");
    function.add_output("b");
    function.add_opset_import()->set_version(17);
    auto& import = *function.add_opset_import();
    import.set_domain("loc");
    import.set_version(1);
    const std::string callee = k == 19 ? "Neg" : "f" + std::to_string(k + 1);
    for (const auto& [in, out] : {std::pair("a", "m"), {"m", "b"}})
      add_node(function.mutable_node(), callee, {in}, {out}).set_domain(k == 19 ? "" : "loc");
  }
  model.mutable_graph()->mutable_node(0)->set_op_type("f0");
  model.mutable_graph()->mutable_node(0)->clear_attribute();
  const Graph graph = graph_of(model);
  EXPECT_TRUE(graph.node(graph.outputs()[0].node).bodies.empty());
}

// com.microsoft.Gelu is Gelu to ONNX Runtime, whatever the model says.
TEST(Bodies, AFunctionInADomainOfTheRuntimeIsNotWrittenOut) {
  const auto bodies = [](const std::string& domain) {
    onnx::ModelProto model = calling_model();
    for (std::string* text :
         {model.mutable_opset_import(1)->mutable_domain(), model.mutable_functions(0)->mutable_domain(),
          model.mutable_graph()->mutable_node(0)->mutable_domain()})
      *text = domain;
    const Graph graph = graph_of(model);
    return graph.node(graph.outputs()[0].node).bodies.size();
  };
  EXPECT_EQ(bodies("com.microsoft"), 0u);
  EXPECT_EQ(bodies("com.microsoft.nchwc"), 0u);
  EXPECT_EQ(bodies("com.microsofty"), 1u);
}

TEST(Bodies, AFunctionThatIsNotWrittenOutIsKnownByAllThatItSays) {
  // A number of calls beyond the limit, so the last one is not inlined.
  const auto made = [](const std::string& op) {
    onnx::ModelProto model = calling_model();
    onnx::FunctionProto& function = *model.mutable_functions(0);
    function.mutable_node(0)->set_op_type(op);
    for (int k = 0; k < 1000; ++k)
      add_node(function.mutable_node(), "Identity", {"m"}, {"unread" + std::to_string(k)});
    for (int k = 0; k < 25; ++k) {
      onnx::NodeProto& call = *model.mutable_graph()->add_node();
      call = model.graph().node(0);
      call.set_output(0, "y" + std::to_string(k));
    }
    model.mutable_graph()->mutable_output(0)->set_name("y24");
    return graph_of(model);
  };
  const Graph neg = made("Neg"), abs = made("Abs");
  const auto last = [](const Graph& graph) -> const Node& { return graph.node(graph.outputs()[0].node); };
  ASSERT_TRUE(last(neg).bodies.empty());
  EXPECT_TRUE(same_inside(neg, last(neg), neg, last(neg)));
  EXPECT_FALSE(same_inside(neg, last(neg), abs, last(abs)));
  EXPECT_FALSE(first_difference(neg, made("Neg")).has_value());
  EXPECT_TRUE(first_difference(neg, abs).has_value());
}

TEST(Bodies, ASparseConstantIsOfTheTypeThatItSaysItself) {
  onnx::ModelProto model = empty_model();
  onnx::AttributeProto& value = *add_node(model, "Constant", {}, {"k"}).add_attribute();
  value.set_name("sparse_value");
  value.set_type(onnx::AttributeProto::SPARSE_TENSOR);
  *value.mutable_sparse_tensor()->mutable_values() = float_tensor("", {1});
  onnx::TensorProto& indices = *value.mutable_sparse_tensor()->mutable_indices();
  indices.set_data_type(onnx::TensorProto::INT64);
  indices.add_dims(1);
  indices.add_int64_data(2);
  value.mutable_sparse_tensor()->add_dims(4);
  set_type(*model.mutable_graph()->add_value_info(), "k", {7});
  add_node(model, "Add", {"x", "k"}, {"y"});
  add_output(model, "y");
  const Graph graph = graph_of(model);
  const auto inference = infer(graph);
  ASSERT_TRUE(inference.ok()) << inference.error().message;
  EXPECT_EQ(inference->of(graph.outputs()[0]).shape, (Dims{4}));
}

}  // namespace
}  // namespace isomer::wire
