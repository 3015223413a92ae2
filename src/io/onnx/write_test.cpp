#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/onnx/model.h"
#include "io/onnx/test_models.h"
#include "io/onnx/write_data.h"
#include "model/graph/rebuild.h"
#include "model/graph/same.h"

namespace isomer::wire {
namespace {

using ::testing::HasSubstr;

std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

std::string entry(const onnx::TensorProto& tensor, std::string_view key) {
  for (const auto& e : tensor.external_data()) {
    if (e.key() == key) return e.value();
  }
  return "";
}

// A model with something in every corner that Isomer does not interpret.
onnx::ModelProto rich_model() {
  onnx::ModelProto model = add_model(float_tensor("w", {1, 2, 3, 4}));
  model.set_producer_name("test");
  model.set_producer_version("1.2");
  model.set_domain("some.where");
  model.set_model_version(7);
  model.set_doc_string("doc");
  auto& property = *model.add_metadata_props();
  property.set_key("labels");
  property.set_value("a,b");
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_doc_string("graph doc");
  set_type(*graph.add_value_info(), "unknown", {3});
  graph.add_quantization_annotation()->set_tensor_name("y");
  graph.add_metadata_props()->set_key("k");
  onnx::NodeProto& node = *graph.mutable_node(0);
  node.set_name("add");
  node.set_doc_string("node doc");
  node.add_metadata_props()->set_key("namespace");
  onnx::FunctionProto& function = *model.add_functions();
  function.set_domain("loc");
  function.set_name("f");
  function.add_opset_import()->set_version(17);
  *model.add_training_info()->mutable_algorithm()->add_initializer() = float_tensor("rate", {0.5f});
  onnx::SparseTensorProto& sparse = *graph.add_sparse_initializer();
  *sparse.mutable_values() = float_tensor("sparse", {5});
  sparse.add_dims(9);
  sparse.mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  sparse.mutable_indices()->add_dims(1);
  sparse.mutable_indices()->add_int64_data(8);
  return model;
}

TEST(Write, GivesBackTheBytesThatWereRead) {
  const ScratchDirectory box;
  const std::string bytes = rich_model().SerializeAsString() + std::string(
                                                                   "\xc2\x3e\x03"
                                                                   "abc",
                                                                   6);  // field 1000
  const auto in = box.write("in.onnx", bytes);
  const auto model = read_model(in);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto written = write_model(*model, box / "out.onnx");
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(contents(box / "out.onnx"), bytes);
  EXPECT_EQ(box.file_count(), 2u);
  EXPECT_EQ(*written_bytes(*model, box / "out.onnx"), bytes.size());
  EXPECT_EQ(*model_bytes(*model), bytes);
}

TEST(Write, PutsExternalDataIntoOneFileBesideTheModel) {
  const ScratchDirectory in, out;
  in.write("a.bin", "0123456789abcdef" + floats({1, 2, 3, 4}));
  in.write("b.bin", floats({5, 6, 7, 8}));
  onnx::ModelProto proto = add_model(external_tensor("a.bin", "16"));
  onnx::TensorProto second = external_tensor("b.bin");
  second.set_name("v");
  *proto.mutable_graph()->add_initializer() = second;
  auto& checksum = *proto.mutable_graph()->mutable_initializer(1)->add_external_data();
  checksum.set_key("checksum");
  checksum.set_value("0000");
  const auto model = read_model(in.write("in.onnx", proto));
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto written = write_model(*model, out / "out.onnx");
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(*written_bytes(*model, out / "out.onnx"),
            std::filesystem::file_size(out / "out.onnx") + std::filesystem::file_size(out / "out.onnx.data"));
  EXPECT_EQ(out.file_count(), 2u);

  const onnx::ModelProto back = parsed(out / "out.onnx");
  const std::string data = contents(out / "out.onnx.data");
  for (int k = 0; k < 2; ++k) {
    const onnx::TensorProto& tensor = back.graph().initializer(k);
    EXPECT_EQ(entry(tensor, "location"), "out.onnx.data");
    EXPECT_EQ(entry(tensor, "checksum"), "");
    const std::size_t offset = std::stoul(entry(tensor, "offset"));
    EXPECT_EQ(offset % 64, 0u);
    EXPECT_EQ(data.substr(offset, 16), k == 0 ? floats({1, 2, 3, 4}) : floats({5, 6, 7, 8}));
  }
  EXPECT_TRUE(read_model(out / "out.onnx").ok());
}

TEST(Write, CopiesRangesThatOverlapOnce) {
  const ScratchDirectory in, out;
  in.write("w.bin", std::string(2'000'000, 'w'));
  onnx::ModelProto proto = relu_model();
  for (int k = 0; k < 100; ++k) {
    onnx::TensorProto tensor = external_tensor("w.bin", std::to_string(k * 4), "1600000");
    tensor.set_name("w" + std::to_string(k));
    tensor.set_dims(0, 400'000);
    *proto.mutable_graph()->add_initializer() = tensor;
  }
  const auto model = read_model(in.write("in.onnx", proto));
  ASSERT_TRUE(model.ok()) << model.error().message;
  ASSERT_TRUE(write_model(*model, out / "out.onnx").ok());
  EXPECT_LE(std::filesystem::file_size(out / "out.onnx.data"), 2'000'000u);
  EXPECT_TRUE(read_model(out / "out.onnx").ok());
}

TEST(Write, MovesExternalDataOfBodiesFunctionsAndConstantsToo) {
  const ScratchDirectory in, out;
  in.write("w.bin", floats({1, 2, 3, 4}));
  onnx::ModelProto proto = empty_model();
  set_type(*proto.mutable_graph()->add_input(), "c", {}, onnx::TensorProto::BOOL);
  onnx::NodeProto& node = add_node(proto, "If", {"c"}, {"y"});
  for (const std::string branch : {"then_branch", "else_branch"}) {
    onnx::GraphProto& body = add_body(node, branch);
    add_node(body.mutable_node(), "Add", {"x", "w"}, {branch});
    body.add_output()->set_name(branch);
    *body.add_initializer() = external_tensor("w.bin");
  }
  const auto constant = [](google::protobuf::RepeatedPtrField<onnx::NodeProto>* nodes) {
    auto& value = *add_node(nodes, "Constant", {}, {"k"}).add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    *value.mutable_t() = external_tensor("w.bin");
  };
  constant(proto.mutable_graph()->mutable_node());
  onnx::FunctionProto& function = *proto.add_functions();
  function.set_domain("loc");
  function.set_name("f");
  function.add_output("k");
  function.add_opset_import()->set_version(17);
  constant(function.mutable_node());
  add_output(proto, "y");
  const auto model = read_model(in.write("in.onnx", proto));
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto written = write_model(*model, out / "out.onnx");
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(contents(out / "out.onnx.data"), floats({1, 2, 3, 4}));
  const auto again = read_model(out / "out.onnx");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(contents(out / "out.onnx").find("w.bin"), std::string::npos);
  // Where the elements lie is no difference; what they are is one, wherever something reads them.
  EXPECT_EQ(first_difference(model->graph, again->graph), std::nullopt);
  out.write("out.onnx.data", floats({1, 2, 3, 5}));
  const auto other = read_model(out / "out.onnx");
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE(first_difference(model->graph, other->graph).has_value());
  const auto inside = [&](const Model& read) -> const Node& {
    return read.graph.node(read.graph.outputs()[0].node);
  };
  EXPECT_FALSE(same_elements(inside(*model).attributes, inside(*other).attributes));
  EXPECT_FALSE(same_inside(model->graph, inside(*model), other->graph, inside(*other)));
  EXPECT_NE(*model->graph.functions, *other->graph.functions);
}

TEST(Write, RefusesToOverwriteWhatItReads) {
  const ScratchDirectory box;
  const auto in = box.write("in.onnx", relu_model());
  std::filesystem::create_symlink("in.onnx", box / "link.onnx");
  std::filesystem::create_hard_link(in, box / "hard.onnx");
  const auto model = read_model(in);
  ASSERT_TRUE(model.ok());
  for (const std::string name : {"in.onnx", "link.onnx", "hard.onnx"}) {
    EXPECT_THAT(write_model(*model, box / name).error().message,
                HasSubstr("is a file that the model is read from"))
        << name;
  }
  EXPECT_EQ(contents(in), relu_model().SerializeAsString());
  EXPECT_EQ(box.file_count(), 3u);
}

TEST(Write, RefusesToOverwriteTheDataThatItReads) {
  const ScratchDirectory box;
  box.write("out.onnx.data", floats({1, 2, 3, 4}));
  const auto model = read_model(box.write("in.onnx", add_model(external_tensor("out.onnx.data"))));
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_THAT(write_model(*model, box / "out.onnx").error().message,
              HasSubstr("is a file that the model is read from"));
  EXPECT_EQ(box.file_count(), 2u);
}

TEST(Write, LeavesNothingBehindWhenItFails) {
  const ScratchDirectory box;
  const auto model = read_model(box.write("in.onnx", relu_model()));
  ASSERT_TRUE(model.ok());
  std::filesystem::create_directory(box / "folder");
  ASSERT_EQ(::mkfifo((box / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(write_model(*model, box / "folder").error().message, HasSubstr("is not a regular file"));
  EXPECT_THAT(write_model(*model, box / "pipe").error().message, HasSubstr("is not a regular file"));
  EXPECT_THAT(write_model(*model, box / "missing/out.onnx").error().message, HasSubstr("No such file"));
  EXPECT_EQ(box.file_count(), 3u);
}

TEST(Write, NoticesExternalDataThatChanged) {
  const ScratchDirectory in, out;
  in.write("w.bin", floats({1, 2, 3, 4}));
  const auto model = read_model(in.write("in.onnx", add_model(external_tensor("w.bin"))));
  ASSERT_TRUE(model.ok());
  std::filesystem::remove(in / "w.bin");
  in.write("w.bin", floats({1, 2, 3, 4, 5}));
  EXPECT_THAT(write_model(*model, out / "out.onnx").error().message, HasSubstr("changed since it was read"));
  EXPECT_EQ(out.file_count(), 0u);
}

TEST(Write, ReplacesAnOlderFile) {
  const ScratchDirectory box;
  const auto model = read_model(box.write("in.onnx", relu_model()));
  ASSERT_TRUE(model.ok());
  box.write("out.onnx", "old");
  ASSERT_TRUE(write_model(*model, box / "out.onnx").ok());
  EXPECT_EQ(contents(box / "out.onnx"), contents(box / "in.onnx"));
  EXPECT_EQ(box.file_count(), 2u);
}

// ---- graphs that were changed ----

// y = Relu(Add(x, w)) becomes y = Relu(Sub(x, v)) with a new v.
Model changed(Model model, std::size_t new_elements) {
  Graph& graph = model.graph;
  const Graph before = graph;
  Graph after = before.without_nodes();
  Value x;
  for (const NodeId id : before.order()) {
    if (before.node(id).kind == NodeKind::Input) x = {after.add(id), 0};
  }
  after.add_input(x);
  Node v;
  v.kind = NodeKind::Initializer;
  v.outputs = {"v"};
  v.tensor = Tensor::of(ElementType::Float, {static_cast<std::int64_t>(new_elements)},
                        std::vector<float>(new_elements, 2.0f));
  const Value new_weight{after.add(std::move(v)), 0};
  Node sub;
  sub.op = "Sub";
  sub.inputs = {x, new_weight};
  sub.outputs = {"y"};
  sub.attributes.set("__note__", std::int64_t{3});
  after.add_output({after.add(std::move(sub)), 0});
  graph = after;
  return model;
}

TEST(Write, FollowsTheGraphWhereItChanged) {
  const ScratchDirectory box;
  onnx::ModelProto proto = add_model(float_tensor("w", {1, 2, 3, 4}));
  set_type(*proto.mutable_graph()->add_value_info(), "w", {4});
  auto model = read_model(box.write("in.onnx", proto));
  ASSERT_TRUE(model.ok());
  const auto written = write_model(changed(*model, 4), box / "out.onnx");
  ASSERT_TRUE(written.ok()) << written.error().message;
  const onnx::ModelProto back = parsed(box / "out.onnx");
  ASSERT_EQ(back.graph().node_size(), 1);
  EXPECT_EQ(back.graph().node(0).op_type(), "Sub");
  EXPECT_EQ(back.graph().node(0).input(1), "v");
  EXPECT_EQ(back.graph().node(0).attribute(0).i(), 3);
  ASSERT_EQ(back.graph().initializer_size(), 1);
  EXPECT_EQ(back.graph().initializer(0).raw_data(), floats({2, 2, 2, 2}));
  EXPECT_EQ(back.graph().value_info_size(), 0) << "w is gone";
  EXPECT_TRUE(read_model(box / "out.onnx").ok());
}

TEST(Write, ListsInitializersAsInputsBeforeIr4) {
  const ScratchDirectory box;
  onnx::ModelProto proto = add_model(float_tensor("w", {1, 2, 3, 4}));
  proto.set_ir_version(3);
  set_type(*proto.mutable_graph()->add_input(), "w", {4});
  auto model = read_model(box.write("in.onnx", proto));
  ASSERT_TRUE(model.ok());
  ASSERT_TRUE(write_model(changed(*model, 4), box / "out.onnx").ok());
  const onnx::ModelProto back = parsed(box / "out.onnx");
  ASSERT_EQ(back.graph().input_size(), 2);
  EXPECT_EQ(back.graph().input(0).name(), "x");
  EXPECT_EQ(back.graph().input(1).name(), "v");
}

TEST(Write, PutsNewLargeWeightsBesideOldExternalOnes) {
  const ScratchDirectory in, out;
  in.write("w.bin", floats({1, 2, 3, 4}));
  onnx::ModelProto proto = add_model(float_tensor("w", {1, 2, 3, 4}));
  onnx::FunctionProto& function = *proto.add_functions();  // what keeps external data in the model
  function.set_domain("loc");
  function.set_name("f");
  function.add_output("k");
  function.add_opset_import()->set_version(17);
  auto& value = *add_node(function.mutable_node(), "Constant", {}, {"k"}).add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  *value.mutable_t() = external_tensor("w.bin");
  auto model = read_model(in.write("in.onnx", proto));
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto written = write_model(changed(*model, 1000), out / "out.onnx");
  ASSERT_TRUE(written.ok()) << written.error().message;
  const onnx::TensorProto tensor = parsed(out / "out.onnx").graph().initializer(0);
  EXPECT_EQ(tensor.data_location(), onnx::TensorProto::EXTERNAL);
  EXPECT_EQ(contents(out / "out.onnx.data").substr(std::stoul(entry(tensor, "offset")), 4000),
            floats(std::vector<float>(1000, 2)));
}

TEST(Write, KeepsBodiesOfNodesThatChanged) {
  const ScratchDirectory box;
  onnx::ModelProto proto = empty_model();
  set_type(*proto.mutable_graph()->add_input(), "c", {}, onnx::TensorProto::BOOL);
  add_node(proto, "Identity", {"c"}, {"d"});
  onnx::NodeProto& node = add_node(proto, "If", {"d"}, {"y"});
  node.set_doc_string("kept");
  for (const std::string branch : {"then_branch", "else_branch"}) {
    onnx::GraphProto& body = add_body(node, branch);
    add_node(body.mutable_node(), "Relu", {"x"}, {branch});
    body.add_output()->set_name(branch);
  }
  add_output(proto, "y");
  auto model = read_model(box.write("in.onnx", proto));
  ASSERT_TRUE(model.ok()) << model.error().message;
  Graph& graph = model->graph;
  const auto named = [&](std::string_view name) {
    for (const NodeId id : graph.order()) {
      if (graph.node(id).outputs[0] == name) return Value{id, 0};
    }
    return Value::none();
  };
  auto replaced = replace(graph, {{named("d"), named("c")}});
  ASSERT_TRUE(replaced.ok()) << replaced.error().message;
  graph = *replaced;
  ASSERT_TRUE(write_model(*model, box / "out.onnx").ok());
  const onnx::ModelProto back = parsed(box / "out.onnx");
  ASSERT_EQ(back.graph().node_size(), 1);
  EXPECT_EQ(back.graph().node(0).input(0), "c");
  EXPECT_EQ(back.graph().node(0).doc_string(), "kept");
  ASSERT_EQ(back.graph().node(0).attribute_size(), 2);
  EXPECT_EQ(back.graph().node(0).attribute(1).g().node(0).op_type(), "Relu");
}

TEST(Write, WritesAGraphThatWasInNoFile) {
  const ScratchDirectory box;
  Model model;
  model.ir_version = 8;
  model.graph.name = "made";
  model.graph.opsets = {{"", 17}};
  Node x;
  x.kind = NodeKind::Input;
  x.outputs = {"x"};
  x.declared = {ElementType::Float, std::vector<std::optional<Dim>>{Dim::symbol("n"), std::nullopt, Dim(3)}};
  const Value input{model.graph.add(std::move(x)), 0};
  model.graph.add_input(input);
  Node relu;
  relu.op = "Relu";
  relu.inputs = {input};
  relu.outputs = {"y"};
  model.graph.add_output({model.graph.add(std::move(relu)), 0});
  const auto written = write_model(model, box / "out.onnx");
  ASSERT_TRUE(written.ok()) << written.error().message;
  const auto back = read_model(box / "out.onnx");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->graph.opset(""), 17);
  EXPECT_EQ(back->graph.node(back->graph.inputs()[0].node).declared, model.graph.node(input.node).declared);
}

// ---- copying ----

TEST(CopyRange, KeepsHolesAndBytes) {
  const ScratchDirectory box;
  constexpr std::uint64_t kSize = std::uint64_t{64} << 20;
  const Descriptor input(::open((box / "in").c_str(), O_RDWR | O_CREAT, 0600)),
      output(::open((box / "out").c_str(), O_RDWR | O_CREAT, 0600));
  ASSERT_EQ(::ftruncate(input.get(), kSize), 0);
  ASSERT_EQ(::ftruncate(output.get(), kSize + 4096), 0);
  ASSERT_TRUE(write_at(input.get(), "middle", 6, 30'000'001).ok());
  ASSERT_TRUE(write_at(input.get(), "end", 3, kSize - 3).ok());
  ASSERT_TRUE(copy_range(input.get(), 1, kSize - 1, output.get(), 4097).ok());
  std::string text(6, ' ');
  ASSERT_EQ(::pread(output.get(), text.data(), 6, 30'000'001 + 4096), 6);
  EXPECT_EQ(text, "middle");
  ASSERT_EQ(::pread(output.get(), text.data(), 3, static_cast<off_t>(kSize) - 3 + 4096), 3);
  EXPECT_EQ(text.substr(0, 3), "end");
  struct stat status{};
  ASSERT_EQ(::fstat(output.get(), &status), 0);
  EXPECT_LT(status.st_blocks * 512, 1 << 20) << "holes are not filled";
}

}  // namespace
}  // namespace isomer::wire
