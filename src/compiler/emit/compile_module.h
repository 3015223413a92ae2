// A model as a compiled module in a folder: shared library, C header, weights, interface.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/emit/module.h"
#include "io/onnx/model.h"
#include "model/graph/graph.h"
#include "model/graph/infer.h"
#include "runtime/engines/ort_operator.h"
#include "runtime/worker/time_limit.h"

namespace isomer {

struct CompileRequest {
  std::filesystem::path folder;
  std::string name = "model";     // begins every symbol
  std::string target = "native";  // a name that targets() has
  std::string compiler = {};      // "": the one that is found
  std::vector<std::string> sizes = {};
  std::string schedules = {};  // as compiler/schedule/schedule.h has them
  lower::Exactness exactness = lower::Exactness::Fast;
  int threads = 1;                     // of a run, where its user says nothing else
  lower::TunedLines tuned = {};        // what was found to be fast, for units that `schedules` leaves open
  std::filesystem::path objects = {};  // a folder that remembers what was compiled; "": nothing is
  std::shared_ptr<const TimeLimit> limit =
      {};  // the C++ compiler is ended when it is over; null: there is none
};

struct CompiledModule {
  lower::ModuleTexts texts;
  std::string compiler;
  double compiler_seconds = 0;
  std::filesystem::path library;  // that is loaded
  std::uint64_t library_bytes = 0;
};

std::vector<std::string> compile_targets();
bool runs_here(const std::string& target);

// Error, if a module can't be of the graph's inputs: the size of one is not given.
Status need_sizes(const Graph& graph, const InferOptions& sizes);

// Error: a node without a formula, by name; a size that is not known; a name that is none in C; no compiler,
// or one that fails.
Result<CompiledModule> compile_module(const Graph& graph, const CompileRequest& request);

// Several programs as operators of ONNX Runtime in one library, NAME_0.cpp and so on, with one file of
// weights, NAME.weights. Programs that differ in their weights alone share their code; those that have the
// same weights share these: one network at several sizes.
struct RegionSource {
  const Graph* program = nullptr;
  // For a model with open sizes: the input whose extents they are. The operator gets these extents as a
  // vector.
  std::string sizes = {};
};
struct CompiledRegions {
  struct Region {
    // The operator; no library has one of this name that computes something else.
    std::string op = {};
    lower::Plan plan = {};
    std::int64_t weights = 0;  // where they begin in the file
    // Why it is not in the library, if its sizes are open; else an error.
    std::string failure = {};
  };
  std::vector<Region> regions;  // as the programs were given
  std::string choice = {};      // the operator that chooses among cases; "": there is none
  std::size_t functions = 0;    // of C++, each counted once
  std::string compiler;
  double compiler_seconds = 0;
  std::filesystem::path library;
  std::uint64_t library_bytes = 0;
};
// `choice`: an operator that says which of several cases a call is, made when all plans are known.
using ChoiceOfRegions = std::function<std::optional<OrtChoice>(const CompiledRegions&)>;
Result<CompiledRegions> compile_regions(const std::vector<RegionSource>& programs,
                                        const CompileRequest& request, const ChoiceOfRegions& choice = {});

// A model whose one node is an operator that a library of ours registers with ONNX Runtime. `weights`: where
// its own begin in the file, of one of several operators.
Result<Model> operator_model(const lower::Plan& plan, const std::string& name,
                             std::optional<std::int64_t> weights = {});

// A library whose one operator times schedules (compiler/emit/unit.h), and the model that calls it: seconds
// to times, which are doubles of these extents.
Result<std::filesystem::path> compile_timing(const std::string& code, const Extents& extents,
                                             const CompileRequest& request);
Result<Model> timing_model(const std::string& name, const Extents& extents);

// Its inputs and outputs, as in interface.json.
std::string interface_json(const lower::Plan& plan, const CompileRequest& request);

}  // namespace isomer
