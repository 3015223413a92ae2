// Shared by the tests of this folder: small models made in code, and a directory that is removed with the
// test.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "io/onnx/read.h"
#include "onnx/onnx-ml.pb.h"

namespace isomer::wire {

class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "isomer_onnx_XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path_ / name;
  }
  std::filesystem::path write(const std::string& name, const onnx::ModelProto& model) const {
    return write(name, model.SerializeAsString());
  }
  std::size_t file_count() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline onnx::ModelProto parsed(const std::filesystem::path& path) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(contents(path)));
  return model;
}

inline void set_type(onnx::ValueInfoProto& info, const std::string& name,
                     const std::vector<std::int64_t>& dims, int type = onnx::TensorProto::FLOAT) {
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape();
  for (const std::int64_t dim : dims) tensor.mutable_shape()->add_dim()->set_dim_value(dim);
}

inline onnx::NodeProto& add_node(google::protobuf::RepeatedPtrField<onnx::NodeProto>* nodes,
                                 const std::string& op, const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs) {
  onnx::NodeProto& node = *nodes->Add();
  node.set_op_type(op);
  for (const auto& input : inputs) node.add_input(input);
  for (const auto& output : outputs) node.add_output(output);
  return node;
}

inline onnx::NodeProto& add_node(onnx::ModelProto& model, const std::string& op,
                                 const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs) {
  return add_node(model.mutable_graph()->mutable_node(), op, inputs, outputs);
}

inline onnx::AttributeProto& add_attribute(onnx::NodeProto& node, const std::string& name,
                                           std::int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
  return attribute;
}

inline onnx::GraphProto& add_body(onnx::NodeProto& node, const std::string& name) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::GRAPH);
  attribute.mutable_g()->set_name(name);
  return *attribute.mutable_g();
}

// x: float[4], and no nodes or outputs yet.
inline onnx::ModelProto empty_model(int opset = 17) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(opset);
  model.mutable_graph()->set_name("g");
  set_type(*model.mutable_graph()->add_input(), "x", {4});
  return model;
}

inline void add_output(onnx::ModelProto& model, const std::string& name) {
  set_type(*model.mutable_graph()->add_output(), name, {4});
}

// y = Relu(x)
inline onnx::ModelProto relu_model() {
  onnx::ModelProto model = empty_model();
  add_node(model, "Relu", {"x"}, {"y"});
  add_output(model, "y");
  return model;
}

// float[4] with raw data
inline onnx::TensorProto float_tensor(const std::string& name, const std::vector<float>& values) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(static_cast<std::int64_t>(values.size()));
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  return tensor;
}

inline onnx::TensorProto external_tensor(const std::string& location, const std::string& offset = "0",
                                         const std::string& length = "16") {
  onnx::TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(4);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : {std::pair("location", location), {"offset", offset}, {"length", length}}) {
    if (value.empty()) continue;
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  return tensor;
}

// y = x + w
inline onnx::ModelProto add_model(const onnx::TensorProto& w) {
  onnx::ModelProto model = empty_model();
  add_node(model, "Add", {"x", "w"}, {"y"});
  add_output(model, "y");
  *model.mutable_graph()->add_initializer() = w;
  return model;
}

inline Result<Model> read_bytes(std::string_view bytes,
                                const std::filesystem::path& directory = "/nonexistent") {
  return read_model_bytes(std::as_bytes(std::span(bytes)), directory);
}
inline Result<Model> read(const onnx::ModelProto& model,
                          const std::filesystem::path& directory = "/nonexistent") {
  return read_bytes(model.SerializeAsString(), directory);
}
// The message of the refusal; empty if the model is accepted.
inline std::string refusal(const onnx::ModelProto& model,
                           const std::filesystem::path& directory = "/nonexistent") {
  const auto result = read(model, directory);
  return result.ok() ? std::string() : result.error().message;
}

}  // namespace isomer::wire
