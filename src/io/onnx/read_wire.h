// From bytes to messages: opens a model file and lets protobuf parse it, within bounds on depth, size and
// memory.
#pragma once

#include <google/protobuf/arena.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"
#include "io/onnx/descriptor.h"
#include "onnx/onnx-ml.pb.h"

namespace isomer::wire {

using Arena = google::protobuf::Arena;

// A parsed model, in memory of its own. Tensors that alias its fields share the arena.
struct ParsedModel {
  std::shared_ptr<Arena> arena;
  onnx::ModelProto* model = nullptr;
};

constexpr std::uint64_t kLargestModelBytes = 0x7fffffff;  // protobuf's limit on one message

struct ModelFile {
  Descriptor descriptor;
  FileIdentity identity;
  std::uint64_t bytes = 0;
};

std::string system_error_text(int number);  // "No such file or directory"

// A regular file, opened without blocking (a FIFO must not hang), and small enough for protobuf.
Result<ModelFile> open_model_file(const std::filesystem::path& path);

// The memory limit for the messages of a model of `model_bytes` bytes, without payloads of strings and raw
// data: real models need far less, and two bytes of a file may require three hundred of memory.
std::size_t message_memory_limit(std::uint64_t model_bytes);

// The whole stream as one message.
Result<ParsedModel> parse_model(google::protobuf::io::ZeroCopyInputStream& stream, std::size_t memory_limit);

}  // namespace isomer::wire
