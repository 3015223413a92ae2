// Models, tensors, runtimes: what the other headers share. Loads, saves, inspects and runs a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#ifndef ISOMER_API
#if defined(__GNUC__)
#define ISOMER_API __attribute__((visibility("default")))
#else
#define ISOMER_API
#endif
#endif

namespace isomer::api {

// The version of the loaded library: "0.3.0".
ISOMER_API std::string_view version() noexcept;

enum class ErrorKind : int {
  BadInput = 1,     // a file, an option or an argument is at fault
  NotModelled = 2,  // the model has a node that has no meaning here, or no certain one
  Runtime = 3,      // the runtime is not there, refuses the model, or died of it
  OutOfMemory = 4,
  Internal = 5,  // a bug of Isomer's
  Stopped = 6,   // by the caller, where nothing can be given back
};

class ISOMER_API Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, std::string node = {}, std::string attribute = {});
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;
  ~Error() override;
  ErrorKind kind() const noexcept { return kind_; }
  const std::string& node() const noexcept { return node_; }            // "": none to name
  const std::string& attribute() const noexcept { return attribute_; }  // of the node; "": none to name

 private:
  ErrorKind kind_;
  std::string node_, attribute_;
};

// A node of the model has no meaning here, so that it can't be run: ErrorKind::NotModelled.
class ISOMER_API NotModelledError : public Error {
 public:
  NotModelledError(std::string node, std::string op, std::string reason);
  NotModelledError(const NotModelledError&) = default;
  NotModelledError& operator=(const NotModelledError&) = default;
  ~NotModelledError() override;
  const std::string& op() const noexcept { return op_; }
  const std::string& reason() const noexcept { return reason_; }

 private:
  std::string op_, reason_;
};

// ---- Models

// A model that was read or made; it never changes, and copies are cheap.
class ISOMER_API Model {
 public:
  Model(const Model&);
  Model(Model&&) noexcept;
  Model& operator=(const Model&);
  Model& operator=(Model&&) noexcept;
  ~Model();

  struct State;
  explicit Model(std::shared_ptr<const State> state);  // Isomer's own
  const State& state() const;

 private:
  std::shared_ptr<const State> state_;
};

// Sizes are "x=1x3x224x224" (an input) or "batch=8" (a dimension that inputs name). Where inputs are made up,
// those that are not given are found: docs/guides/sizes.md.
struct LoadOptions {
  std::vector<std::string> sizes = {};   // the model at these: another model, for these sizes only
  std::vector<std::string> values = {};  // inputs that have one value, "sr=16000": the model without them
  // Other sizes are 1 for a first axis and 128 for others, or what the model's constants demand.
  bool assume_sizes = false;
  // Sizes that stay open are at least this, 0 or 1, in all that is proved of the model
  // (docs/concepts/equality.md).
  int sizes_from = 1;
  // Shape and formula of custom operators, as text (docs/guides/custom-operator.md): this model uses them
  // like all others, and certificates carry them as assumptions. ErrorKind::BadInput, with line and column.
  std::string operators = {};
};

// External data is looked for beneath the model's own folder. The file must stay as it is while the model is
// used: one that has changed is refused.
ISOMER_API Model load(const std::filesystem::path& path, const LoadOptions& options = {});

// Two models at the same sizes, with the same custom operators; a name that only one of them has is no
// mistake. LoadOptions::assume_sizes is ignored.
struct ModelPair {
  Model a, b;
};
ISOMER_API ModelPair load_pair(const std::filesystem::path& a, const std::filesystem::path& b,
                               const LoadOptions& options = {});

// Whole or not at all; the weights of large models beside it, in PATH.data. A model that was loaded and not
// changed is written byte by byte as it was.
ISOMER_API void save(const Model& model, const std::filesystem::path& path);

// The same for a model in memory, an ONNX ModelProto; the bytes are copied. ErrorKind::BadInput: it has
// weights in other files, or options give sizes (load such a model from its file).
ISOMER_API Model parse(std::span<const std::byte> bytes, const LoadOptions& options = {});
// ErrorKind::BadInput: the model has weights in other files, or more than 2 GiB.
ISOMER_API std::vector<std::byte> serialize(const Model& model);

// ---- Tensors

// Numbered as ONNX numbers them (TensorProto.DataType); types without a name here are possible.
enum class ElementType : std::int32_t {
  Undefined = 0,
  Float = 1,
  Uint8 = 2,
  Int8 = 3,
  Uint16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  Uint32 = 12,
  Uint64 = 13,
  BFloat16 = 16,
};

struct Tensor {
  ElementType type = ElementType::Undefined;
  std::vector<std::int64_t> shape = {};
  std::vector<std::byte> bytes = {};  // row-major, little-endian
};
using Tensors = std::map<std::string, Tensor, std::less<>>;

// npz files, as numpy.savez writes and numpy.load reads them.
ISOMER_API Tensors load_tensors(const std::filesystem::path& path);
ISOMER_API void save_tensors(const Tensors& tensors, const std::filesystem::path& path);

ISOMER_API std::string_view name(ElementType type) noexcept;  // "float", "int64"
// The elements as numbers; nullopt: they are none, or the bytes don't fit the shape.
ISOMER_API std::optional<std::vector<double>> numbers(const Tensor& tensor);

// ---- What a model is

struct Port {
  std::string name;
  ElementType type = ElementType::Undefined;
  std::optional<std::vector<std::string>> shape = {};  // "3", "batch"; nullopt: the rank is not known
};

struct Inspection {
  std::int64_t ir_version = 0;
  std::map<std::string, int> opsets = {};  // by domain; "" is ONNX's own
  std::uint64_t nodes = 0;
  std::vector<Port> inputs = {}, outputs = {};
  std::uint64_t float_nodes = 0, float_nodes_defined = 0;  // that have a meaning here
  struct Opaque {
    std::string node, op, reason;
  };
  std::vector<Opaque> opaque = {};         // nodes that have none
  std::optional<std::int64_t> flops = {};  // nullopt: sizes are not known, or too many
  std::uint64_t weight_bytes = 0;
  std::string json = {};  // what `isomer inspect --json` prints
};

// At these sizes, where they matter.
ISOMER_API Inspection inspect(const Model& model, const std::vector<std::string>& sizes = {});

struct GraphNode {
  std::string name, op, domain;                        // domain "": ONNX's own
  std::vector<std::string> inputs = {}, outputs = {};  // names of values; "": left out
  std::map<std::string, std::string> attributes = {};  // "[1, 1]"; a tensor's type; {...} for a subgraph
};

struct Structure {
  std::vector<GraphNode> nodes = {};  // in an order in which they can run
  std::vector<Port> values = {};      // inputs, weights and nodes' outputs, with inferred types and shapes
};

// The nodes and values of the main graph, at these sizes.
ISOMER_API Structure structure(const Model& model, const std::vector<std::string>& sizes = {});

// ---- Runtimes, always in a process of their own (isomer-worker)

struct RuntimeOptions {
  std::string name = "ort";  // or "openvino"
  std::filesystem::path library =
      {};  // of the runtime; "": $ISOMER_ORT_LIBRARY (or _OPENVINO_), else that of the Python package
  std::filesystem::path worker =
      {};  // the program; "": $ISOMER_WORKER, else isomer-worker beside this program or in this library's bin
  int threads = 1;                         // 0: as many as the runtime likes
  std::string optimization_level = "all";  // of ONNX Runtime's own passes: none, basic, extended, all
  std::vector<std::string> disabled_optimizers = {}, custom_op_libraries = {};
  std::map<std::string, std::string> config = {};  // as the runtime spells it
  double memory_gib = 0;                           // 0: three quarters of the machine's
  double call_seconds = 600;                       // until one call counts as a hang
};

// The names that RuntimeOptions::name may have here.
ISOMER_API std::vector<std::string> runtimes();

enum class Engine : int { Reference = 0, ReferenceInDouble = 1, Runtime = 2 };

struct RunOptions {
  Engine engine = Engine::Reference;  // the operators' own formulas: slow, and what "equal" is about
  RuntimeOptions runtime = {};        // of Engine::Runtime
  std::stop_token stop = {};          // ErrorKind::Stopped; formulas are not interrupted
};
ISOMER_API Tensors run(const Model& model, const Tensors& feeds, const RunOptions& options = {});

// ---- What several functions take or return

// What is going on: "proving: 5 nodes are one convolution". Called while the function works, one call at a
// time, and maybe by another thread; it should return soon and must not throw.
using Progress = std::function<void(std::string_view now)>;

struct Interval {
  double estimate = 0, low = 0, high = 0;  // 95 %
};

// What a model is run on: `feeds`; else those of `file`; else made up, at `sizes`, with `values`.
struct Inputs {
  std::optional<Tensors> feeds = {};
  std::filesystem::path file = {};       // npz; "": none
  std::vector<std::string> sizes = {};   // as in LoadOptions
  std::vector<std::string> values = {};  // "sr=16000" fills an input with that number
  std::uint64_t seed = 1;                // of drawn numbers
};

// How a function works, whatever it does.
struct Run {
  RuntimeOptions runtime = {};
  std::filesystem::path scratch = {};  // a folder for models that are measured; "": that of temporary files
  Progress progress = {};
  // Where a function has a best so far, that is then its result; else ErrorKind::Stopped.
  std::stop_token stop = {};
};

}  // namespace isomer::api
