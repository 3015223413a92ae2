// Any location, offset and length of external data: refused, or bytes of the one file that is beneath the
// model's directory. Beside it lie a link out of it, a link within it and a folder; outside lies a file whose
// bytes must never be seen.
#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "io/onnx/read.h"
#include "onnx/onnx-ml.pb.h"

namespace {

namespace fs = std::filesystem;
constexpr char kInside = 'i', kOutside = 'o';

fs::path made_directory() {
  std::string pattern = (fs::temp_directory_path() / "isomer_external_XXXXXX").string();
  if (!::mkdtemp(pattern.data())) std::abort();
  const fs::path root = pattern;
  fs::create_directories(root / "model" / "sub");
  std::ofstream(root / "model" / "w") << std::string(64, kInside);
  std::ofstream(root / "secret") << std::string(64, kOutside);
  fs::create_symlink("../secret", root / "model" / "out");
  fs::create_symlink("w", root / "model" / "in");
  fs::create_symlink("../..", root / "model" / "sub" / "up");
  return root / "model";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fs::path directory = made_directory();
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(18);
  auto& graph = *model.mutable_graph();
  graph.set_name("g");
  auto& tensor = *graph.add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(onnx::TensorProto::UINT8);
  tensor.add_dims(size > 0 ? data[0] % 80 : 0);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  // The rest, divided by line breaks: keys and values by turns.
  std::string key, text(size > 0 ? reinterpret_cast<const char*>(data) + 1 : "", size > 0 ? size - 1 : 0);
  for (std::size_t at = 0, line = 0; at <= text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (line % 2 == 0) {
      key = text.substr(at, end - at);
    } else {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(text.substr(at, end - at));
    }
    at = end + 1;
  }
  auto& node = *graph.add_node();
  node.set_op_type("Identity");
  node.add_input("w");
  node.add_output("y");
  graph.add_output()->set_name("y");
  const std::string bytes = model.SerializeAsString();
  const auto read = isomer::read_model_bytes(std::as_bytes(std::span(bytes)), directory);
  if (!read.ok()) return 0;
  for (const isomer::NodeId id : read->graph.order()) {
    const isomer::Node& node_read = read->graph.node(id);
    if (node_read.kind != isomer::NodeKind::Initializer) continue;
    for (const std::uint8_t byte : node_read.tensor.as<std::uint8_t>())
      if (byte != kInside) std::abort();
  }
  return 0;
}
