#include "onnx/read.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "onnx/test_models.h"

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
  bytes += std::string("\xc2\x3e\x03" "abc", 6);  // field 1000
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

// ---- nodes ----

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

// ---- names ----

TEST(Names, AreDefinedOnceAndBeforeTheyAreRead) {
  onnx::ModelProto unsorted = empty_model();
  add_node(unsorted, "Relu", {"a"}, {"y"});
  add_node(unsorted, "Relu", {"x"}, {"a"});
  add_output(unsorted, "y");
  EXPECT_THAT(refusal(unsorted), HasSubstr("reads 'a', which nothing before it defines"));

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
  for (const Value& value : graph.node(graph.outputs()[0].node).captures) captured.push_back(graph.name_of(value));
  EXPECT_EQ(captured, (std::vector<std::string>{"h", "x"}));
}

TEST(Bodies, OfBodiesCaptureThroughAllLevels) {
  IfModel built;
  onnx::NodeProto& inner = add_node(built.then_branch->mutable_node(), "If", {"c"}, {"deep"});
  for (const std::string branch : {"then_branch", "else_branch"}) {
    onnx::GraphProto& body = add_body(inner, branch);
    add_node(body.mutable_node(), "Add", {"h", "t"}, {branch});  // h from the main graph, t from the outer branch
    body.add_output()->set_name(branch);
  }
  built.else_branch->mutable_node(0)->set_input(0, "h");
  const auto model = read(built.model);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const Graph& graph = model->graph;
  std::vector<std::string> captured;
  for (const Value& value : graph.node(graph.outputs()[0].node).captures) captured.push_back(graph.name_of(value));
  EXPECT_EQ(captured, (std::vector<std::string>{"c", "h"}));
}

TEST(Bodies, AreCheckedLikeTheMainGraph) {
  IfModel unknown;
  unknown.then_branch->mutable_node(0)->set_op_type("Frobnicate");
  EXPECT_THAT(refusal(unknown.model), HasSubstr("Frobnicate"));

  IfModel undefined;
  undefined.else_branch->mutable_node(0)->set_input(0, "ghost");
  EXPECT_THAT(refusal(undefined.model), HasSubstr("reads 'ghost'"));

  IfModel later;  // what comes after the node is not visible in it
  add_node(later.model, "Relu", {"x"}, {"after"});
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
  EXPECT_THAT(refusal(built.model), HasSubstr("attribute 'else_branch' has a body of 0 outputs where the node needs 1"));
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

// ---- functions ----

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

void call(onnx::FunctionProto& function, const std::string& callee, const std::string& in, const std::string& out) {
  add_node(function.mutable_node(), callee, {in}, {out}).set_domain("loc");
}

TEST(Functions, AreKeptByName) {
  onnx::ModelProto model = calling_model("f");
  add_node(add_function(model, "f").mutable_node(), "Neg", {"a"}, {"b"});
  const auto read_back = read(model);
  ASSERT_TRUE(read_back.ok()) << read_back.error().message;
  EXPECT_TRUE(read_back->graph.functions.contains({"loc", "f"}));
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
  auto& shape = *model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
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
