#include "cli/runtime_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "runtime/engines.h"

namespace isomer::cli {

void add_library_options(CLI::App& command, RuntimeRequest& request) {
  command
      .add_option(
          "--runtime-library", request.library,
          "The runtime's library (default: $ISOMER_ORT_LIBRARY or $ISOMER_OPENVINO_LIBRARY, else that of "
          "the installed Python package)")
      ->type_name("L");
  command.add_option("--threads", request.threads, "Threads of the runtime; 0: as many as it likes")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command.add_option("--optimization-level", request.level, "of ONNX Runtime's own passes")
      ->check(CLI::IsMember({"none", "basic", "extended", "all"}))
      ->capture_default_str();
  command
      .add_option("--disable-optimizer", request.disabled, "A pass of ONNX Runtime's to leave out, by name")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  command.add_option("--runtime-config", request.config, "A setting as the runtime spells it")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  command.add_option("--custom-op-library", request.custom_op_libraries, "Operators of your own")
      ->type_name("L")
      ->expected(1)
      ->take_all();
  command.add_option("--memory-limit", request.memory_gib,
                     "Of the runtime's process, in GiB (default: three quarters of the machine's)");
  command.add_option("--timeout", request.timeout_seconds, "Seconds until one call counts as a hang")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void add_runtime_options(CLI::App& command, RuntimeRequest& request) {
  std::vector<std::string> names;
  for (const Engine& engine : engines()) names.emplace_back(engine.name);
  command.add_option("--runtime", request.runtimes, "The runtime to judge on, or several: ort,openvino")
      ->delimiter(',')
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  add_library_options(command, request);
}

Result<RuntimeOptions> runtime_options(const RuntimeRequest& request) {
  RuntimeOptions options;
  options.threads = request.threads;
  options.level = request.level == "none"       ? OptimizationLevel::None
                  : request.level == "basic"    ? OptimizationLevel::Basic
                  : request.level == "extended" ? OptimizationLevel::Extended
                                                : OptimizationLevel::All;
  options.disabled_optimizers = request.disabled;
  options.custom_op_libraries = request.custom_op_libraries;
  for (const std::string& entry : request.config) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error{fmt::format("--runtime-config {}: expected KEY=VALUE", entry)};
    options.config[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return options;
}

WorkerOptions worker_options(const RuntimeRequest& request, const std::string& runtime) {
  WorkerOptions options;
  options.runtime = runtime;
  options.library = request.library;
  options.limits.memory_bytes = static_cast<std::uint64_t>(request.memory_gib * 0x1p30);
  options.call_seconds = request.timeout_seconds;
  return options;
}

std::string network_note(NetworkGuard guard) {
  switch (guard) {
    case NetworkGuard::Filter:
    case NetworkGuard::Namespace: return "";
    case NetworkGuard::None: break;
  }
  return "this kernel forbids both seccomp and network namespaces: the runtime's process could use the "
         "network";
}

}  // namespace isomer::cli
