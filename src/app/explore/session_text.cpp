#include "app/explore/session_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/check.h"

namespace isomer {
namespace {

std::string_view constant(OptimizationLevel level) {
  switch (level) {
    case OptimizationLevel::None: return "ORT_DISABLE_ALL";
    case OptimizationLevel::Basic: return "ORT_ENABLE_BASIC";
    case OptimizationLevel::Extended: return "ORT_ENABLE_EXTENDED";
    case OptimizationLevel::All: return "ORT_ENABLE_ALL";
  }
  ISOMER_UNREACHABLE("an optimization level");
}

// As a text of Python and of C++ alike.
std::string quote(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// All entries, that of the disabled optimizers among them.
std::map<std::string, std::string> entries(const RuntimeOptions& options) {
  auto all = options.config;
  if (!options.disabled_optimizers.empty())
    all["optimization.disable_specified_optimizers"] =
        fmt::format("{}", fmt::join(options.disabled_optimizers, ";"));
  return all;
}

}  // namespace

std::string_view text(OptimizationLevel level) {
  switch (level) {
    case OptimizationLevel::None: return "none";
    case OptimizationLevel::Basic: return "basic";
    case OptimizationLevel::Extended: return "extended";
    case OptimizationLevel::All: return "all";
  }
  ISOMER_UNREACHABLE("an optimization level");
}

std::string python_text(const RuntimeOptions& options) {
  std::string out = "options = onnxruntime.SessionOptions()\n";
  if (options.level != OptimizationLevel::All)
    out += fmt::format("options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.{}\n",
                       constant(options.level));
  for (const auto& [key, value] : entries(options)) {
    const char* truth = value == "1" ? "True" : "False";
    if (key == "session.enable_mem_pattern") out += fmt::format("options.enable_mem_pattern = {}\n", truth);
    else if (key == "session.enable_cpu_mem_arena")
      out += fmt::format("options.enable_cpu_mem_arena = {}\n", truth);
    else if (key == "session.execution_mode")
      out += fmt::format("options.execution_mode = onnxruntime.ExecutionMode.{}\n",
                         value == "1" ? "ORT_PARALLEL" : "ORT_SEQUENTIAL");
    else out += fmt::format("options.add_session_config_entry({}, {})\n", quote(key), quote(value));
  }
  return out;
}

std::string cpp_text(const RuntimeOptions& options) {
  std::string out = "Ort::SessionOptions options;\n";
  if (options.level != OptimizationLevel::All)
    out += fmt::format("options.SetGraphOptimizationLevel({});\n", constant(options.level));
  for (const auto& [key, value] : entries(options)) {
    const char* verb = value == "1" ? "Enable" : "Disable";
    if (key == "session.enable_mem_pattern") out += fmt::format("options.{}MemPattern();\n", verb);
    else if (key == "session.enable_cpu_mem_arena") out += fmt::format("options.{}CpuMemArena();\n", verb);
    else if (key == "session.execution_mode")
      out += fmt::format("options.SetExecutionMode({});\n", value == "1" ? "ORT_PARALLEL" : "ORT_SEQUENTIAL");
    else out += fmt::format("options.AddConfigEntry({}, {});\n", quote(key), quote(value));
  }
  return out;
}

}  // namespace isomer
