#include "io/onnx/read.h"

#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <new>

#include "io/onnx/fixed_sizes.h"
#include "io/onnx/fixed_values.h"
#include "io/onnx/program.h"
#include "io/onnx/read_attribute.h"
#include "io/onnx/read_functions.h"
#include "io/onnx/read_graph.h"
#include "io/onnx/read_scope.h"
#include "io/onnx/read_text.h"
#include "io/onnx/read_wire.h"
#include "io/onnx/shell.h"
#include "io/onnx/sort_nodes.h"
#include "io/onnx/tensor_walk.h"

namespace isomer {
namespace {

using namespace wire;

constexpr int kReadBytes = 1 << 18;  // per call of read(2)
constexpr int kOldestIr = 3;         // the first that has opset imports
constexpr int kNewestIr = 14;        // of the onnx release whose operators are known
static_assert(kNewestIr == onnx::Version::IR_VERSION);

Status check_ir_version(const onnx::ModelProto& model) {
  if (!model.has_ir_version() || !model.has_graph())
    return Error{"is not an ONNX model: it has no IR version or no graph"};
  if (model.ir_version() > kNewestIr) {
    return Error{fmt::format("has IR version {}; the newest known is {}", model.ir_version(), kNewestIr)};
  }
  if (model.ir_version() < kOldestIr) {
    return Error{fmt::format("has IR version {}; the oldest known is {} and the newest {}",
                             model.ir_version(), kOldestIr, kNewestIr)};
  }
  return Done{};
}

Status check_input_types(const Graph& graph) {
  for (const Value& input : graph.inputs()) {
    const DeclaredType& type = graph.node(input.node).declared;
    if (type.is_tensor && type.type == ElementType::Undefined)
      return Error{fmt::format("graph input {} has no type", shown(graph.name_of(input)))};
  }
  return Done{};
}

// Moves the fields before the graph into a message of their own, and nodes and initializers out of the graph.
void take_apart(onnx::ModelProto& model, ModelShell& shell) {
  Arena* arena = shell.arena.get();
  shell.head = Arena::CreateMessage<onnx::ModelProto>(arena);
  shell.bulk = Arena::CreateMessage<onnx::GraphProto>(arena);
  shell.graph = model.unsafe_arena_release_graph();
  shell.tail = &model;
  onnx::ModelProto& head = *shell.head;
  if (model.has_ir_version()) head.set_ir_version(model.ir_version());
  if (model.has_model_version()) head.set_model_version(model.model_version());
  if (model.has_producer_name()) head.set_producer_name(std::move(*model.mutable_producer_name()));
  if (model.has_producer_version()) head.set_producer_version(std::move(*model.mutable_producer_version()));
  if (model.has_domain()) head.set_domain(std::move(*model.mutable_domain()));
  if (model.has_doc_string()) head.set_doc_string(std::move(*model.mutable_doc_string()));
  model.clear_ir_version();
  model.clear_model_version();
  model.clear_producer_name();
  model.clear_producer_version();
  model.clear_domain();
  model.clear_doc_string();
  if (shell.graph->has_name()) shell.bulk->set_name(shell.graph->name());
  shell.graph->clear_name();
  shell.bulk->mutable_node()->UnsafeArenaSwap(shell.graph->mutable_node());
  shell.bulk->mutable_initializer()->UnsafeArenaSwap(shell.graph->mutable_initializer());
}

// The settings for reading a model, besides the declarations of its file.
struct Fixed {
  const InferOptions& sizes;
  FixedValues values = {};
};

Result<Model> read_parsed(const ParsedModel& parsed, const Fixed* fixed, ModelShell& shell) {
  onnx::ModelProto& proto = *parsed.model;
  shell.arena = parsed.arena;
  const TensorSource source{parsed.arena, shell.files.get()};

  ISOMER_TRY_DO(check_ir_version(proto));
  if (fixed) ISOMER_TRY_DO(fix_sizes(*proto.mutable_graph(), fixed->sizes));
  if (fixed) ISOMER_TRY_DO(fix_values(*proto.mutable_graph(), fixed->values));
  ISOMER_TRY(const Opsets opsets, read_opsets(proto.opset_import()));
  ISOMER_TRY(const Functions functions, read_functions(proto));
  auto names = check_graph_names(proto.graph(), {opsets, functions});
  if (!names.ok() && sort_nodes(*proto.mutable_graph()))
    names = check_graph_names(proto.graph(), {opsets, functions});
  ISOMER_TRY(const Captures captures, std::move(names));

  TensorWalk elsewhere;  // the main graph's tensors are read, all others only checked
  for (const auto& function : proto.functions()) elsewhere.add(function);
  for (const auto& training : proto.training_info()) {
    elsewhere.add(training.initialization());
    elsewhere.add(training.algorithm());
  }
  ISOMER_TRY_DO(check_tensors(elsewhere, source));

  Model model;
  model.ir_version = proto.ir_version();
  model.node_count = static_cast<std::size_t>(proto.graph().node_size());
  ISOMER_TRY(model.graph, build_graph(proto, opsets, functions, captures, source, shell));
  shell.original = model.graph;
  take_apart(proto, shell);
  return model;
}

Result<Model> read_stream(google::protobuf::io::ZeroCopyInputStream& stream, std::uint64_t bytes,
                          ExternalFiles files, std::vector<FileIdentity> sources,
                          const Fixed* fixed = nullptr) {
  try {
    auto shell = std::make_shared<ModelShell>();
    shell->files = std::make_unique<ExternalFiles>(std::move(files));
    shell->sources = std::move(sources);
    ISOMER_TRY(const ParsedModel parsed, parse_model(stream, message_memory_limit(bytes)));
    ISOMER_TRY(Model model, read_parsed(parsed, fixed, *shell));
    model.shell = std::move(shell);
    return model;
  } catch (const std::bad_alloc&) {
    return Error{"needs more memory than there is"};
  }
}

Result<Model> read_bytes(std::span<const std::byte> bytes, ExternalFiles files) {
  if (bytes.size() > kLargestModelBytes) return Error{"a model of more than 2 GiB"};
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  return read_stream(stream, bytes.size(), std::move(files), {});
}

Result<Model> read_file(const std::filesystem::path& path, const Fixed* fixed) {
  const auto read = [&]() -> Result<Model> {
    ISOMER_TRY(const ModelFile file, open_model_file(path));
    google::protobuf::io::FileInputStream stream(file.descriptor.get(), kReadBytes);
    auto model = read_stream(stream, file.bytes, ExternalFiles(path.parent_path()), {file.identity}, fixed);
    // To the parser this is the end of the file, and what came before may be a model, too.
    if (stream.GetErrno() != 0)
      return Error{fmt::format("can't be read: {}", system_error_text(stream.GetErrno()))};
    if (!model.ok()) return model;
    if (static_cast<std::uint64_t>(stream.ByteCount()) != file.bytes)
      return Error{"changed while it was read"};
    ISOMER_TRY_DO(check_input_types(model->graph));
    return model;
  };
  auto model = read();
  if (model.ok()) return model;
  Error error = model.error();
  error.message = fmt::format("{}: {}", printable(path.native()), error.message);
  return error;
}

}  // namespace

Result<Model> read_model(const std::filesystem::path& path) { return read_file(path, nullptr); }

Result<Model> read_model_at(const std::filesystem::path& path, const InferOptions& sizes) {
  return read_model_at(path, sizes, {});
}

Result<Model> read_model_at(const std::filesystem::path& path, const InferOptions& sizes,
                            const FixedValues& values) {
  const Fixed fixed{.sizes = sizes, .values = values};
  return read_file(path, &fixed);
}

static Result<Model> read_checked(std::span<const std::byte> bytes, ExternalFiles files) {
  ISOMER_TRY(Model model, read_bytes(bytes, std::move(files)));
  ISOMER_TRY_DO(check_input_types(model.graph));
  return model;
}

Result<Model> read_model_bytes(std::span<const std::byte> bytes) {
  return read_checked(bytes, ExternalFiles());
}

Result<Model> read_model_bytes(std::span<const std::byte> bytes, const std::filesystem::path& directory) {
  return read_checked(bytes, ExternalFiles(directory));
}

Result<Graph> read_program(std::string_view bytes) {
  ISOMER_TRY(const Model model, read_bytes(std::as_bytes(std::span(bytes)), ExternalFiles()));
  if (!model.graph.functions->empty()) return Error{"a program has no functions"};
  for (const NodeId id : model.graph.order()) {
    const Node& node = model.graph.node(id);
    for (const Attribute& a : node.attributes.all())
      if (const auto* raw = std::get_if<RawAttribute>(&a.value); raw != nullptr && raw->is_graph)
        return Error{fmt::format("{} has a subgraph", label(node))};
  }
  return model.graph;
}

}  // namespace isomer
