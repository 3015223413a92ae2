#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>

#include "io/onnx/model.h"
#include "io/onnx/program.h"
#include "io/onnx/read_text.h"
#include "io/onnx/read_wire.h"
#include "io/onnx/shell.h"
#include "io/onnx/write_data.h"
#include "io/onnx/write_file.h"
#include "io/onnx/write_proto.h"

namespace isomer {
namespace {

using namespace wire;
using google::protobuf::MessageLite;
using google::protobuf::io::CodedOutputStream;

constexpr std::int64_t kProgramIr = 8;  // any from 4 on: an initializer is no input

constexpr std::uint32_t tag(int field) {
  return static_cast<std::uint32_t>(field) << 3 | 2;
}  // length-delimited

std::uint64_t varint_size(std::uint64_t value) { return CodedOutputStream::VarintSize64(value); }

// The size of a field with `bytes` bytes of content.
std::uint64_t field_size(int field, std::uint64_t bytes) {
  return varint_size(tag(field)) + varint_size(bytes) + bytes;
}

std::uint64_t initializer_size(const InitializerOut& initializer) {
  const std::uint64_t message = initializer.proto->ByteSizeLong();
  return message + (initializer.raw.data
                        ? field_size(onnx::TensorProto::kRawDataFieldNumber, initializer.raw.size)
                        : 0);
}

std::uint64_t graph_size(const ModelOut& out) {
  std::uint64_t bytes = out.rest->ByteSizeLong();
  if (out.name) bytes += field_size(onnx::GraphProto::kNameFieldNumber, out.name->size());
  for (const auto* node : out.nodes)
    bytes += field_size(onnx::GraphProto::kNodeFieldNumber, node->ByteSizeLong());
  for (const auto& tensor : out.initializers) {
    bytes += field_size(onnx::GraphProto::kInitializerFieldNumber, initializer_size(tensor));
  }
  return bytes;
}

std::uint64_t model_size(const ModelOut& out) {
  return out.head->ByteSizeLong() + out.tail->ByteSizeLong() +
         field_size(onnx::ModelProto::kGraphFieldNumber, graph_size(out));
}

void begin_field(CodedOutputStream& stream, int field, std::uint64_t bytes) {
  stream.WriteTag(tag(field));
  stream.WriteVarint64(bytes);
}

// The whole model, message by message: weights go from where they are into the stream's buffer and out.
void write_messages(const ModelOut& out, CodedOutputStream& stream) {
  out.head->SerializeToCodedStream(&stream);
  begin_field(stream, onnx::ModelProto::kGraphFieldNumber, graph_size(out));
  for (const auto* node : out.nodes) {
    begin_field(stream, onnx::GraphProto::kNodeFieldNumber, node->ByteSizeLong());
    node->SerializeToCodedStream(&stream);
  }
  if (out.name) {
    begin_field(stream, onnx::GraphProto::kNameFieldNumber, out.name->size());
    stream.WriteString(*out.name);
  }
  for (const InitializerOut& tensor : out.initializers) {
    begin_field(stream, onnx::GraphProto::kInitializerFieldNumber, initializer_size(tensor));
    tensor.proto->SerializeToCodedStream(&stream);
    if (tensor.raw.data == nullptr) continue;
    begin_field(stream, onnx::TensorProto::kRawDataFieldNumber, tensor.raw.size);
    stream.WriteRaw(tensor.raw.data, static_cast<int>(tensor.raw.size));
  }
  out.rest->SerializeToCodedStream(&stream);
  out.tail->SerializeToCodedStream(&stream);
}

Status write_to(const ModelOut& out, const std::filesystem::path& path, int descriptor) {
  google::protobuf::io::FileOutputStream file(descriptor);
  bool is_complete = true;
  {
    CodedOutputStream stream(&file);
    write_messages(out, stream);
    stream.Trim();
    is_complete = !stream.HadError();
  }
  if (!is_complete || !file.Flush()) {
    return Error{
        fmt::format("{} can't be written: {}", printable(path.native()), system_error_text(file.GetErrno()))};
  }
  return Done{};
}

// Where external data goes, in the model's messages and in the data file.
Status plan_data(ModelOut& out, DataPlan& plan, const std::string& location) {
  for (onnx::TensorProto* tensor : out.external) ISOMER_TRY_DO(plan.add(tensor));
  if (plan.empty()) return Done{};
  for (const std::size_t k : out.movable) {
    InitializerOut& initializer = out.initializers[k];
    // Safe: the messages of new initializers are in ModelOut's own arena.
    plan.add(const_cast<onnx::TensorProto*>(initializer.proto), std::exchange(initializer.raw, {}));
  }
  ISOMER_TRY_DO(check_name(location, "external location"));
  plan.place(location);
  return Done{};
}

std::filesystem::path data_of(std::filesystem::path path) { return path += ".data"; }

Status write(const Model& model, const ModelShell& shell, const std::filesystem::path& path) {
  std::vector<FileIdentity> sources = shell.sources;
  for (const auto& [location, file] : shell.files->files()) sources.push_back(file.identity);
  ISOMER_TRY_DO(check_target(path, sources));

  ModelOut out;
  ISOMER_TRY_DO(fill(out, model, shell));
  const std::filesystem::path data_path = data_of(path);
  DataPlan plan(*shell.files);
  ISOMER_TRY_DO(plan_data(out, plan, data_path.filename().native()));
  if (const std::uint64_t bytes = model_size(out); bytes > kLargestModelBytes) {
    return Error{
        fmt::format("{} would have {} bytes, over protobuf's 2 GiB; save the input with external data first",
                    printable(path.native()), bytes)};
  }
  std::optional<OutputFile> data;
  if (!plan.empty()) {
    ISOMER_TRY_DO(check_target(data_path, sources));
    ISOMER_TRY(OutputFile created, OutputFile::create(data_path));
    data.emplace(std::move(created));
    if (::ftruncate(data->descriptor(), static_cast<off_t>(plan.bytes())) != 0) {
      return Error{fmt::format("{} can't have {} bytes: {}", printable(data_path.native()), plan.bytes(),
                               system_error_text(errno))};
    }
    ISOMER_TRY_DO(plan.copy_to(data->descriptor()));
    ISOMER_TRY_DO(data->sync());
  }
  ISOMER_TRY(OutputFile file, OutputFile::create(path));
  ISOMER_TRY_DO(write_to(out, path, file.descriptor()));
  ISOMER_TRY_DO(file.sync());
  if (data) ISOMER_TRY_DO(data->rename());
  ISOMER_TRY_DO(file.rename());
  return sync_directory(path.parent_path());
}

Status copy_file(const ModelShell& shell, const std::filesystem::path& from,
                 const std::filesystem::path& path) {
  ISOMER_TRY_DO(check_target(path, shell.sources));
  const Descriptor input(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!input.is_open() || ::fstat(input.get(), &status) != 0)
    return Error{fmt::format("{} can't be read: {}", printable(from.native()), system_error_text(errno))};
  if (std::ranges::find(shell.sources, identity(status)) == shell.sources.end())
    return Error{fmt::format("{} changed since it was read", printable(from.native()))};
  ISOMER_TRY(OutputFile file, OutputFile::create(path));
  if (const auto done =
          copy_range(input.get(), 0, static_cast<std::uint64_t>(status.st_size), file.descriptor(), 0);
      !done.ok())
    return Error{fmt::format("{}: {}", printable(path.native()), done.error().message)};
  ISOMER_TRY_DO(file.sync());
  ISOMER_TRY_DO(file.rename());
  return sync_directory(path.parent_path());
}

}  // namespace

std::uint64_t external_bytes(const Model& model) {
  std::uint64_t bytes = 0;
  if (model.shell)
    for (const auto& [location, file] : model.shell->files->files()) bytes += file.bytes;
  return bytes;
}

Status copy_model(const Model& model, const std::filesystem::path& from, const std::filesystem::path& path) {
  const bool is_alone = model.shell && model.shell->files->files().empty();
  return is_alone ? copy_file(*model.shell, from, path) : write_model(model, path);
}

Result<std::uint64_t> written_bytes(const Model& model, const std::filesystem::path& path) {
  const auto shell = model.shell ? model.shell : make_shell(model);
  ModelOut out;
  ISOMER_TRY_DO(fill(out, model, *shell));
  DataPlan plan(*shell->files);
  ISOMER_TRY_DO(plan_data(out, plan, data_of(path).filename().native()));
  return model_size(out) + plan.bytes();
}

Result<std::string> model_bytes(const Model& model) {
  const auto shell = model.shell ? model.shell : make_shell(model);
  ModelOut out;
  ISOMER_TRY_DO(fill(out, model, *shell));
  if (!out.external.empty()) return Error{"the model has data in other files"};
  if (const std::uint64_t size = model_size(out); size > kLargestModelBytes)
    return Error{fmt::format("the model would have {} bytes, over protobuf's 2 GiB", size)};
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream text(&bytes);
    CodedOutputStream stream(&text);
    write_messages(out, stream);
  }
  return bytes;
}

Result<std::string> write_program(const Graph& graph) {
  return model_bytes({.graph = graph, .ir_version = kProgramIr, .node_count = 0, .shell = {}});
}

Status write_model(const Model& model, const std::filesystem::path& path) {
  try {
    return write(model, model.shell ? *model.shell : *make_shell(model), path);
  } catch (const std::bad_alloc&) {
    return Error{fmt::format("{} needs more memory to be written than there is", printable(path.native()))};
  }
}

}  // namespace isomer
