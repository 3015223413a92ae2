#include "cli/runtime_option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

namespace isomer::cli {

void add_library_options(CLI::App& command, RuntimeRequest& request) {
  command
      .add_option(
          "--runtime-library", request.options.library,
          "The runtime's library (default: $ISOMER_ORT_LIBRARY or $ISOMER_OPENVINO_LIBRARY, else that "
          "of the installed Python package)")
      ->type_name("L");
  add_setting_options(command, request);
}

void add_setting_options(CLI::App& command, RuntimeRequest& request) {
  command
      .add_option("--threads", request.options.threads, "Threads of the runtime; 0: the runtime's default")
      ->check(CLI::Range(0, 1024))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--optimization-level", request.options.optimization_level,
                  "Level of ONNX Runtime's own passes: none, basic, extended or all")
      ->check(CLI::IsMember({"none", "basic", "extended", "all"}))
      ->type_name("LEVEL")
      ->capture_default_str();
  command
      .add_option("--disable-optimizer", request.options.disabled_optimizers,
                  "An ONNX Runtime pass to leave out, by its name (default: none)")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  command
      .add_option("--runtime-config", request.config,
                  "A setting in the runtime's own spelling (default: none)")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  command
      .add_option("--runtime-config-file", request.config_file,
                  "Level, passes to leave out and settings, as explore --config writes them (default: none)")
      ->type_name("FILE");
  command
      .add_option("--custom-op-library", request.options.custom_op_libraries,
                  "A library of custom operators (default: none)")
      ->type_name("L")
      ->expected(1)
      ->take_all();
  command
      .add_option("--memory-limit", request.options.memory_gib,
                  "Memory limit of the runtime process, in GiB (default: three quarters of the machine's)")
      ->check(CLI::PositiveNumber)
      ->type_name("GIB");
  command.add_option("--timeout", request.options.call_seconds, "Seconds until one call counts as a hang")
      ->check(CLI::PositiveNumber)
      ->type_name("S")
      ->capture_default_str();
}

void add_runtime_options(CLI::App& command, RuntimeRequest& request) {
  const std::vector<std::string> names = api::runtimes();
  command
      .add_option("--runtime", request.names,
                  fmt::format("The runtime to measure on, or several: {}", fmt::join(names, ",")))
      ->delimiter(',')
      ->check(CLI::IsMember(names))
      ->type_name("NAME,...")
      ->capture_default_str();
  add_library_options(command, request);
}

void add_clock_option(CLI::App& command, std::string& clock) {
  command
      .add_option(
          "--clock", clock,
          "What the ratio compares: wall time, or CPU time of all threads; auto: CPU time with one thread")
      ->check(CLI::IsMember({"auto", "wall", "cpu"}))
      ->type_name("auto|wall|cpu")
      ->capture_default_str();
}

api::Clock clock_named(const std::string& name) {
  return name == "wall" ? api::Clock::Wall : name == "cpu" ? api::Clock::Cpu : api::Clock::Auto;
}

namespace {

Status read_config_file(const std::string& path, api::RuntimeOptions& options) {
  std::ifstream file(path, std::ios::binary);
  const auto json = nlohmann::json::parse(file, nullptr, false);
  const Error wrong{fmt::format("--runtime-config-file {}: not what explore --config writes", path)};
  if (!json.is_object()) return wrong;
  for (const auto& [key, value] : json.items()) {
    if (key == "optimization_level" && value.is_string()) {
      options.optimization_level = value.get<std::string>();
    } else if (key == "disabled_optimizers" && value.is_array()) {
      for (const auto& name : value) {
        if (!name.is_string()) return wrong;
        options.disabled_optimizers.push_back(name.get<std::string>());
      }
    } else if (key == "config" && value.is_object()) {
      for (const auto& [entry, setting] : value.items()) {
        if (!setting.is_string()) return wrong;
        options.config[entry] = setting.get<std::string>();
      }
    } else {
      return wrong;
    }
  }
  return Done{};
}

}  // namespace

Result<std::vector<api::RuntimeOptions>> runtime_options(const RuntimeRequest& request) {
  api::RuntimeOptions options = request.options;
  if (!request.config_file.empty()) ISOMER_TRY_DO(read_config_file(request.config_file, options));
  for (const std::string& entry : request.config) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error{fmt::format("--runtime-config {}: expected KEY=VALUE", entry)};
    options.config[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  std::vector<api::RuntimeOptions> out;
  for (const std::string& name : request.names) {
    options.name = name;
    out.push_back(options);
  }
  return out;
}

}  // namespace isomer::cli
