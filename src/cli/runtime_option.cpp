#include "cli/runtime_option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "cli/help.h"
#include "runtime/engines.h"
#include "runtime/library_names.h"

namespace isomer::cli {

namespace {

// ONNX Runtime takes any name of a setting or an optimizer and ignores those that it does not know.
Status check_names(const RuntimeRequest& request, const RuntimeOptions& options) {
  const bool is_ort = std::ranges::find(request.runtimes, "ort") != request.runtimes.end();
  if (!is_ort || (options.config.empty() && options.disabled_optimizers.empty())) return Done{};
  const auto names =
      LibraryNames::of(request.library.empty() ? find_library(*engine_named("ort")) : request.library);
  if (!names) return Done{};
  const auto unknown = [](const std::string& option, const std::string& name, const char* what,
                          const std::vector<std::string>& known) {
    const std::string meant = nearest(name, known);
    return Error{fmt::format("{} {}: ONNX Runtime knows no such {}{}", option, name, what,
                             meant.empty() ? "" : fmt::format("; did you mean {}?", meant))};
  };
  for (const auto& [key, value] : options.config)
    if (!names->has(key)) return unknown("--runtime-config", key, "setting", names->settings());
  for (const std::string& name : options.disabled_optimizers)
    if (!names->has_class(name))
      return unknown("--disable-optimizer", name, "optimizer", names->optimizers());
  return Done{};
}

}  // namespace

void add_library_options(CLI::App& command, RuntimeRequest& request) {
  command
      .add_option(
          "--runtime-library", request.library,
          "The runtime's library (default: $ISOMER_ORT_LIBRARY or $ISOMER_OPENVINO_LIBRARY, else that "
          "of the installed Python package)")
      ->type_name("L");
  command.add_option("--threads", request.threads, "Threads of the runtime; 0: as many as it likes")
      ->check(CLI::Range(0, 1024))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--optimization-level", request.level,
                  "Of ONNX Runtime's own passes: none, basic, extended or all")
      ->check(CLI::IsMember({"none", "basic", "extended", "all"}))
      ->type_name("LEVEL")
      ->capture_default_str();
  command
      .add_option("--disable-optimizer", request.disabled,
                  "A pass of ONNX Runtime's to leave out, by its name (default: none)")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  command
      .add_option("--runtime-config", request.config, "A setting as the runtime spells it (default: none)")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  command
      .add_option("--custom-op-library", request.custom_op_libraries, "Operators of your own (default: none)")
      ->type_name("L")
      ->expected(1)
      ->take_all();
  command
      .add_option("--memory-limit", request.memory_gib,
                  "Of the runtime's process, in GiB (default: three quarters of the machine's)")
      ->check(CLI::PositiveNumber)
      ->type_name("GIB");
  command.add_option("--timeout", request.timeout_seconds, "Seconds until one call counts as a hang")
      ->check(CLI::PositiveNumber)
      ->type_name("S")
      ->capture_default_str();
}

void add_runtime_options(CLI::App& command, RuntimeRequest& request) {
  std::vector<std::string> names;
  for (const Engine& engine : engines()) names.emplace_back(engine.name);
  command
      .add_option("--runtime", request.runtimes,
                  fmt::format("The runtime to judge on, or several: {}", fmt::join(names, ",")))
      ->delimiter(',')
      ->check(CLI::IsMember(names))
      ->type_name("NAME,...")
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
  for (const std::string& library : request.custom_op_libraries) {
    std::error_code failure;  // a name without a folder may be one that the linker finds
    if (library.find('/') != std::string::npos && !std::filesystem::is_regular_file(library, failure))
      return Error{fmt::format("--custom-op-library {}: there is no such file", library)};
  }
  ISOMER_TRY_DO(check_names(request, options));
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
