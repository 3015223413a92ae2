#include "cli/runtime_option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "runtime/engines.h"

namespace isomer::cli {

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
