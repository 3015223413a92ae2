#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "app/api/errors.h"
#include "app/api/model_state.h"
#include "app/api/report_json.h"
#include "app/api/stoppable_limit.h"
#include "app/inputs/sized_model.h"
#include "io/npz/npz.h"
#include "io/onnx/fixed_values.h"
#include "io/onnx/read.h"
#include "io/onnx/size_arguments.h"
#include "model/graph/infer.h"
#include "model/graph/text/operator_text.h"
#include "model/graph/text/text.h"
#include "runtime/engines/engines.h"

namespace isomer::api {

namespace fs = std::filesystem;

namespace {

constexpr double kLongest = 1e9;  // seconds; 30 years, and no overflow

// Both are numbered as ONNX numbers them.
constexpr bool is_same(ElementType a, isomer::ElementType b) {
  return static_cast<std::int32_t>(a) == static_cast<std::int32_t>(b);
}
static_assert(is_same(ElementType::Undefined, isomer::ElementType::Undefined) &&
              is_same(ElementType::Float, isomer::ElementType::Float) &&
              is_same(ElementType::Uint8, isomer::ElementType::Uint8) &&
              is_same(ElementType::Int8, isomer::ElementType::Int8) &&
              is_same(ElementType::Uint16, isomer::ElementType::Uint16) &&
              is_same(ElementType::Int16, isomer::ElementType::Int16) &&
              is_same(ElementType::Int32, isomer::ElementType::Int32) &&
              is_same(ElementType::Int64, isomer::ElementType::Int64) &&
              is_same(ElementType::Bool, isomer::ElementType::Bool) &&
              is_same(ElementType::Float16, isomer::ElementType::Float16) &&
              is_same(ElementType::Double, isomer::ElementType::Double) &&
              is_same(ElementType::Uint32, isomer::ElementType::Uint32) &&
              is_same(ElementType::Uint64, isomer::ElementType::Uint64) &&
              is_same(ElementType::BFloat16, isomer::ElementType::BFloat16));

isomer::ElementType internal_type(const std::string& name, ElementType type) {
  const auto number = static_cast<std::int32_t>(type);
  // Numbers beyond ONNX's own are ours; strings have no bytes.
  if (number <= 0 || number > static_cast<std::int32_t>(isomer::ElementType::Float6E3M2) ||
      number == static_cast<std::int32_t>(isomer::ElementType::String))
    throw Error(ErrorKind::BadInput, fmt::format("the tensor '{}' has no type that can be used here", name));
  return static_cast<isomer::ElementType>(number);
}

std::vector<Port> ports_of(const std::vector<InterfaceValue>& values) {
  std::vector<Port> out;
  for (const InterfaceValue& value : values) {
    Port port{.name = value.name, .type = static_cast<ElementType>(value.type)};
    if (value.shape) {
      port.shape.emplace();
      for (const Dim& dim : *value.shape)
        port.shape->push_back(dim.is_concrete() ? std::to_string(dim.concrete()) : dim.text());
    }
    out.push_back(std::move(port));
  }
  return out;
}

Tensors run_here(const Graph& graph, const NamedTensors& feeds, Arithmetic arithmetic) {
  const RunOutcome outcome = take(interpret(graph, feeds, arithmetic));
  if (!outcome.opaque) return to_public(outcome.outputs);
  throw NotModelledError(outcome.opaque->node, outcome.opaque->op, outcome.opaque->reason);
}

// Before the file is read. If it does not exist, the reader reports that.
void set_file(Model::State& state, const fs::path& path) {
  std::error_code failure;
  state.file = fs::absolute(path);
  state.given = path.string();
  if (fs::exists(path, failure)) state.stamp = FileStamp::of(path);
}

Tensors run_there(const Model::State& state, const NamedTensors& feeds, const RunOptions& options) {
  const RuntimeRequest request = request_of(options.runtime);
  const auto runtime = take(runtime_options(request));
  const RunnableFile file(state, {});
  const StoppableLimit limit(options.stop);
  WorkerOptions worker = worker_options(request, options.runtime.name);
  worker.limit = limit.limit();
  const auto judge = limit.take(isomer::Judge::start(worker));
  return to_public(limit.take(judge->run(file.source(), feeds, runtime)));
}

}  // namespace

std::string_view version() noexcept { return ISOMER_VERSION; }

Error::Error(ErrorKind kind, const std::string& message, std::string node, std::string attribute)
    : std::runtime_error(message), kind_(kind), node_(std::move(node)), attribute_(std::move(attribute)) {}
Error::~Error() = default;

NotModelledError::NotModelledError(std::string node, std::string op, std::string reason)
    : Error(ErrorKind::NotModelled, fmt::format("{} is not modelled here: {}", op, reason), std::move(node)),
      op_(std::move(op)),
      reason_(std::move(reason)) {}
NotModelledError::~NotModelledError() = default;

Model::Model(std::shared_ptr<const State> state) : state_(std::move(state)) {}
Model::Model(const Model&) = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(const Model&) = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

const Model::State& Model::state() const {
  if (!state_) throw Error(ErrorKind::BadInput, "the model was moved away");
  return *state_;
}

FileStamp FileStamp::of(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0)
    throw Error(ErrorKind::BadInput,
                fmt::format("{}: {}", path.string(), std::generic_category().message(errno)));
  return {status.st_dev, status.st_ino, status.st_size,
          std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

void check_file(const Model::State& state) {
  if (FileStamp::of(state.file) != state.stamp)
    throw Error(ErrorKind::BadInput, fmt::format("{} has changed since it was loaded", state.file.string()));
}

RunnableFile::RunnableFile(const Model::State& state, const fs::path& scratch) : file_(state.file) {
  if (file_.empty()) scratch_.emplace(take(ScratchModel::write(state.model, scratch_name(scratch))));
  else check_file(state);
}

fs::path scratch_name(const fs::path& folder) {
  return (folder.empty() ? fs::temp_directory_path() : folder) / "isomer";
}

RuntimeRequest request_of(const RuntimeOptions& options) {
  RuntimeRequest request{.runtimes = {options.name},
                         .library = options.library.string(),
                         .worker = options.worker.string(),
                         .threads = options.threads,
                         .level = options.optimization_level,
                         .disabled = options.disabled_optimizers,
                         .config = {},
                         .custom_op_libraries = options.custom_op_libraries,
                         .memory_gib = options.memory_gib,
                         .timeout_seconds = options.call_seconds};
  if (!(options.memory_gib >= 0 && options.memory_gib < 0x1p30))
    throw Error(ErrorKind::BadInput, "memory_gib is no amount of memory");
  if (!(checked_seconds(options.call_seconds) > 0))
    throw Error(ErrorKind::BadInput, "call_seconds must be more than 0");
  for (const auto& [key, value] : options.config) request.config.push_back(fmt::format("{}={}", key, value));
  return request;
}

namespace {

FeedsForModels found_feeds(const Inputs& inputs, const std::vector<Model>& models, const TryInputs& run) {
  std::vector<const Graph*> graphs;
  for (const Model& model : models) graphs.push_back(&model.state().model.graph);
  FeedsRequest request{.sizes = inputs.sizes, .values = inputs.values, .seed = inputs.seed};
  if (!inputs.file.empty()) return take(feeds_from_file(graphs, inputs.file, request));
  if (inputs.feeds) request.given = to_internal(*inputs.feeds);
  request.run = run;
  return take(feeds_for(graphs, request));
}

}  // namespace

FeedsForModels feeds_of(const Inputs& inputs, const Run& run, const std::vector<Model>& models,
                        double seconds) {
  if (has_feeds(inputs)) return untried_feeds(inputs, models);
  return found_feeds(
      inputs, models,
      try_in_runtime(models.front(), run.runtime, run.scratch, run.stop, seconds, run.progress));
}

FeedsForModels untried_feeds(const Inputs& inputs, const std::vector<Model>& models) {
  return found_feeds(inputs, models, {});
}

NamedTensors to_internal(const Tensors& tensors) {
  NamedTensors out;
  for (const auto& [name, tensor] : tensors) {
    const isomer::ElementType type = internal_type(name, tensor.type);
    const auto size = byte_size(type, tensor.shape);
    if (!size || *size != tensor.bytes.size())
      throw Error(ErrorKind::BadInput, fmt::format("the tensor '{}' has {} bytes, which do not fit its shape",
                                                   name, tensor.bytes.size()));
    out.emplace(name,
                isomer::Tensor(type, tensor.shape, Bytes::copy_of(tensor.bytes.data(), tensor.bytes.size())));
  }
  return out;
}

Tensors to_public(const NamedTensors& tensors) {
  Tensors out;
  for (const auto& [name, tensor] : tensors) {
    if (tensor.type() == isomer::ElementType::String)
      throw Error(ErrorKind::BadInput, fmt::format("the tensor '{}' holds strings", name));
    const Bytes& bytes = tensor.bytes();
    out.emplace(name, Tensor{.type = static_cast<ElementType>(tensor.type()),
                             .shape = tensor.extents(),
                             .bytes = {bytes.data, bytes.data + bytes.size}});
  }
  return out;
}

double checked_seconds(double seconds) {
  if (!(seconds >= 0)) throw Error(ErrorKind::BadInput, "a time can't be negative");
  return std::min(seconds, kLongest);
}

namespace {

std::shared_ptr<const OwnOperators> own_operators(const std::string& text) {
  if (text.empty()) return nullptr;
  auto own = std::make_shared<OwnOperators>();
  if (const Status added = add_operators(text, *own); !added.ok())
    throw Error(ErrorKind::BadInput, "operators: " + added.error().message);
  return own;
}

bool has_open_sizes(const Graph& graph) {
  return std::ranges::any_of(graph.inputs(), [&](const Value& v) {
    const auto& shape = graph.node(v.node).declared.shape;
    return graph.node(v.node).kind == NodeKind::Input && shape &&
           std::ranges::any_of(*shape,
                               [](const auto& d) { return !d || !d->is_concrete() || d->concrete() < 0; });
  });
}

// A model without open sizes needs no assumption.
void set_sizes_from(Graph& graph, int least) {
  if (least != 0 && least != 1) throw Error(ErrorKind::BadInput, "sizes_from is 0 or 1");
  graph.sizes_from = has_open_sizes(graph) ? least : 0;
}

}  // namespace

Model load(const fs::path& path, const LoadOptions& options) {
  return guarded([&] {
    const auto own = own_operators(options.operators);
    auto state = std::make_shared<Model::State>();
    set_file(*state, path);
    state->model = take(read_model(path));
    if (!options.values.empty()) throw Error(ErrorKind::BadInput, "values are of a pair of models");
    if (!options.sizes.empty() || options.assume_sizes) {
      SizedModel sized = take(read_at_sizes(path, state->model.graph, options.sizes, options.assume_sizes));
      state->model = std::move(sized.model);
      state->fixed = std::move(sized.sizes);
    }
    state->model.graph.opsets.own = own;
    set_sizes_from(state->model.graph, options.sizes_from);
    check_file(*state);  // what was read is what the stamp is of
    return Model(std::move(state));
  });
}

ModelPair load_pair(const fs::path& a, const fs::path& b, const LoadOptions& options) {
  return guarded([&] {
    const auto own = own_operators(options.operators);
    const std::vector<std::string>& sizes = options.sizes;
    auto first = std::make_shared<Model::State>(), second = std::make_shared<Model::State>();
    set_file(*first, a);
    set_file(*second, b);
    first->model = take(read_model(a));
    second->model = take(read_model(b));
    if (!sizes.empty() || !options.values.empty()) {
      const std::vector<const Graph*> graphs{&first->model.graph, &second->model.graph};
      const auto parsed = take(parse_sizes(sizes, graphs));
      const auto values = take(parse_values(options.values, graphs));
      first->model = take(read_model_at(a, parsed[0], values));
      second->model = take(read_model_at(b, parsed[1], values));
      first->fixed = sizes;
      first->fixed.insert(first->fixed.end(), options.values.begin(), options.values.end());
      second->fixed = first->fixed;
    }
    first->model.graph.opsets.own = second->model.graph.opsets.own = own;
    for (const auto& state : {first, second}) set_sizes_from(state->model.graph, options.sizes_from);
    check_file(*first);
    check_file(*second);
    return ModelPair{Model(std::move(first)), Model(std::move(second))};
  });
}

void save(const Model& model, const fs::path& path) {
  guarded([&] {
    const Model::State& state = model.state();
    if (!state.is_whole_file()) return take(write_model(state.model, path));
    check_file(state);
    return take(copy_model(state.model, state.file, path));
  });
}

Model parse(std::span<const std::byte> bytes, const LoadOptions& options) {
  return guarded([&] {
    if (!options.sizes.empty() || options.assume_sizes || !options.values.empty())
      throw Error(ErrorKind::BadInput, "sizes and values are for models in files: save the bytes, then load");
    auto state = std::make_shared<Model::State>();
    state->model = take(read_model_bytes(bytes));
    state->model.graph.opsets.own = own_operators(options.operators);
    set_sizes_from(state->model.graph, options.sizes_from);
    return Model(std::move(state));
  });
}

std::vector<std::byte> serialize(const Model& model) {
  return guarded([&] {
    const std::string bytes = take(model_bytes(model.state().model));
    const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
    return std::vector<std::byte>(first, first + bytes.size());
  });
}

Tensors load_tensors(const fs::path& path) {
  return guarded([&] { return to_public(take(read_npz(path))); });
}

void save_tensors(const Tensors& tensors, const fs::path& path) {
  guarded([&] { return take(write_npz(to_internal(tensors), path)); });
}

std::string_view name(ElementType type) noexcept {
  return isomer::name(static_cast<isomer::ElementType>(type));
}

std::optional<std::vector<double>> numbers(const Tensor& tensor) {
  return guarded([&]() -> std::optional<std::vector<double>> {
    const isomer::ElementType type = internal_type("", tensor.type);
    if (byte_size(type, tensor.shape) != tensor.bytes.size()) return std::nullopt;
    return isomer::Tensor(type, tensor.shape, Bytes::copy_of(tensor.bytes.data(), tensor.bytes.size()))
        .doubles();
  });
}

std::vector<std::string> runtimes() {
  return guarded([] {
    std::vector<std::string> names;
    for (const isomer::Engine& engine : engines()) names.emplace_back(engine.name);
    return names;
  });
}

Inspection inspect(const Model& model, const std::vector<std::string>& sizes) {
  return guarded([&] {
    const isomer::Model& inner = model.state().model;
    const Summary summary = take(summarize(inner, take(parse_sizes(sizes, inner.graph))));
    Inspection out{.ir_version = summary.ir,
                   .nodes = summary.nodes,
                   .inputs = ports_of(summary.inputs),
                   .outputs = ports_of(summary.outputs),
                   .float_nodes = summary.float_nodes,
                   .float_nodes_defined = summary.float_nodes_defined,
                   .weight_bytes = summary.weight_bytes,
                   .json = json_text(to_json(summary))};
    out.opsets.insert(summary.opsets.begin(), summary.opsets.end());
    for (const OpaqueEntry& entry : summary.opaque)
      out.opaque.push_back({entry.node, entry.op, entry.reason});
    if (summary.flops && summary.flops->is_concrete()) out.flops = summary.flops->concrete();
    return out;
  });
}

Structure structure(const Model& model, const std::vector<std::string>& sizes) {
  return guarded([&] {
    const isomer::Graph& graph = model.state().model.graph;
    const Inference inference = take(infer(graph, take(parse_sizes(sizes, graph))));
    Structure out;
    std::vector<InterfaceValue> values;
    for (const NodeId id : graph.order()) {
      const isomer::Node& node = graph.node(id);
      for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
        if (!node.outputs[k].empty()) values.push_back(describe_value(graph, inference, {id, k}));
      if (node.kind != NodeKind::Operator) continue;
      GraphNode made{.name = node.name, .op = node.op, .domain = node.domain, .outputs = node.outputs};
      for (const Value& v : node.inputs) made.inputs.push_back(graph.name_of(v));
      for (const Attribute& a : node.attributes.all()) made.attributes[a.name] = value_text(a);
      out.nodes.push_back(std::move(made));
    }
    out.values = ports_of(values);
    return out;
  });
}

Tensors run(const Model& model, const Tensors& feeds, const RunOptions& options) {
  return guarded([&] {
    const Model::State& state = model.state();
    const NamedTensors given = to_internal(feeds);
    take(check_feeds(given, state.model.graph));
    switch (options.engine) {
      case Engine::Runtime: return run_there(state, given, options);
      case Engine::Reference: return run_here(state.model.graph, given, Arithmetic::Native);
      case Engine::ReferenceInDouble: return run_here(state.model.graph, given, Arithmetic::Double);
    }
    throw Error(ErrorKind::BadInput, "there is no such engine");
  });
}

}  // namespace isomer::api
