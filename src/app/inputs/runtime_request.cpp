#include "app/inputs/runtime_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "base/nearest_word.h"
#include "runtime/engines/engines.h"
#include "runtime/engines/library_names.h"

namespace isomer {
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

Result<RuntimeOptions> runtime_options(const RuntimeRequest& request) {
  constexpr std::array<std::string_view, 4> kLevels = {"none", "basic", "extended", "all"};
  if (std::ranges::find(kLevels, request.level) == kLevels.end())
    return Error{fmt::format("there is no optimization level '{}'", request.level)};
  for (const std::string& name : request.runtimes)
    if (engine_named(name) == nullptr) return Error{fmt::format("there is no runtime '{}' here", name)};
  if (request.threads < 0) return Error{"the number of threads can't be negative"};
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
  options.program = request.worker;
  options.limits.memory_bytes = static_cast<std::uint64_t>(request.memory_gib * 0x1p30);
  options.call_seconds = request.timeout_seconds;
  return options;
}

}  // namespace isomer
