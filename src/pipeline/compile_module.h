// A model as a compiled module in a folder: shared library, C header, weights, interface.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "lower/module.h"
#include "onnx/model.h"

namespace isomer {

struct CompileRequest {
  std::filesystem::path folder;
  std::string name = "model";     // begins every symbol
  std::string target = "native";  // a name that targets() has
  std::string compiler = {};      // "": the one that is found
  std::vector<std::string> sizes = {};
  std::string schedules = {};  // as lower/schedule.h has them
  lower::Exactness exactness = lower::Exactness::Fast;
  int threads = 1;  // of a run, where its user says nothing else
};

struct CompiledModule {
  lower::ModuleTexts texts;
  std::string compiler;
  std::filesystem::path library;  // that is loaded
  std::uint64_t library_bytes = 0;
};

std::vector<std::string> compile_targets();
bool runs_here(const std::string& target);

// Error: a node without a formula, by name; a size that is not known; a name that is none in C; no compiler,
// or one that fails.
Result<CompiledModule> compile_module(const Graph& graph, const CompileRequest& request);

// A model whose one node is the operator that the module's library registers with ONNX Runtime.
Result<Model> operator_model(const lower::Plan& plan, const std::string& name);

// What its inputs and outputs are, as interface.json says it.
std::string interface_json(const lower::Plan& plan, const CompileRequest& request);

}  // namespace isomer
