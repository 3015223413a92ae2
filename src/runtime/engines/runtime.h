// Runtime and Session: one inference engine as the judge sees it, and one model loaded in it.
//
// These run in the worker process only (serve.h); everything else speaks to them through a Worker. A third
// engine is one file that implements the two classes and one line in engines.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/expr/tensor.h"
#include "model/graph/interpret.h"
#include "runtime/engines/outcome.h"

namespace isomer {

enum class OptimizationLevel : std::uint8_t { None, Basic, Extended, All };

struct RuntimeOptions {
  int threads = 1;  // 0: as many as the runtime likes
  OptimizationLevel level = OptimizationLevel::All;
  std::vector<std::string> disabled_optimizers = {};  // by the runtime's own names
  std::map<std::string, std::string> config = {};     // entries as the runtime spells them
  std::vector<std::string> custom_op_libraries = {};
  // One line that is equal iff the options are: a part of the timing cache's key.
  std::string text() const;
};

// A model as the worker gets it: a file, or bytes in memory with the folder of their external data.
struct ModelPlace {
  std::string path;  // empty: the bytes
  const void* data = nullptr;
  std::size_t size = 0;
  std::string folder;
};

struct PortInfo {
  std::string name;
  ElementType type = ElementType::Undefined;
  std::vector<std::int64_t> extents = {};  // -1: not fixed
};

struct Signature {
  std::vector<PortInfo> inputs, outputs;
};

// One kind of operator in the graph that the runtime really runs, after its own fusions.
struct KernelKind {
  std::string op;
  std::uint64_t nodes = 0;
  double time_ns = 0;  // of all of them in one run
  // Each of them, by the runtime's name of the node, which it may have made itself; without those in a body,
  // whose time is that of the node that has it. The delays of a busy machine are left out.
  struct Each {
    std::string node;
    double time_ns = 0;
    std::int64_t place = 0;  // among all kernels of a run, in the order in which they run
  };
  std::vector<Each> each = {};
};

class Session {
 public:
  virtual ~Session() = default;
  virtual const Signature& signature() const = 0;
  // The bytes of the feeds outlive the binding; they are not copied.
  virtual Outcome<Done> bind(const NamedTensors& feeds) = 0;
  // The call that is timed, and nothing else.
  virtual Outcome<Done> run() = 0;
  // The outputs of the last run.
  virtual Outcome<NamedTensors> outputs() = 0;
};

// Files in a scratch folder: what a runtime made of a model, and its weights, if it has any that large.
struct DumpedFiles {
  std::string graph, weights;
};

class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  virtual Outcome<std::unique_ptr<Session>> load(const ModelPlace& model, const RuntimeOptions& options) = 0;
  // The kernels of some runs that last at least so long together. Files that the runtime insists on go to
  // the scratch folder and are removed.
  virtual Outcome<std::vector<KernelKind>> profile(const ModelPlace& model, const RuntimeOptions& options,
                                                   const NamedTensors& feeds, std::int64_t least_ns,
                                                   const std::string& scratch) = 0;
  // The model as the runtime runs it, after its own passes, written to the scratch folder; weights in a file
  // of that name. Refused by runtimes that can't say.
  virtual Outcome<DumpedFiles> dump(const ModelPlace& model, const RuntimeOptions& options,
                                    const std::string& weights_name, const std::string& scratch);
};

using OpenRuntime = Outcome<std::unique_ptr<Runtime>> (*)(const std::string& library);

// Monotonic wall time, for measuring.
std::int64_t now_ns();
// CPU time of all threads of this process.
std::int64_t cpu_ns();

}  // namespace isomer
