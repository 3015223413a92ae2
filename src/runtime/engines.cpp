#include "runtime/engines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "runtime/openvino.h"
#include "runtime/ort.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

constexpr std::array kEngines = {
    Engine{"ort", "ONNX Runtime", "ISOMER_ORT_LIBRARY", "onnxruntime", "capi", "libonnxruntime.so",
           "libonnxruntime.so.1", open_ort},
    Engine{"openvino", "OpenVINO", "ISOMER_OPENVINO_LIBRARY", "openvino", "libs", "libopenvino_c.so",
           "libopenvino_c.so", open_openvino},
};

// The library in an installed package, or "".
std::string in_package(const Engine& engine, const fs::path& package) {
  std::error_code failure;
  std::string best;
  for (const auto& entry : fs::directory_iterator(package / engine.folder, failure))
    if (entry.path().filename().string().starts_with(engine.file))
      best = std::max(best, entry.path().string());
  return best;
}

std::string in_environment(const Engine& engine, const fs::path& prefix) {
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(prefix / "lib", failure)) {
    if (!entry.path().filename().string().starts_with("python3")) continue;
    std::string found = in_package(engine, entry.path() / "site-packages" / engine.package);
    if (!found.empty()) return found;
  }
  return "";
}

// Asked instead of guessed: only the interpreter knows its path. The package itself is not imported.
std::string of_python(const Engine& engine) {
  const std::string command = fmt::format(
      "python3 -c 'import importlib.util as u; s = u.find_spec(\"{}\"); "
      "print(s.submodule_search_locations[0] "
      "if s else \"\")' 2>/dev/null",
      engine.package);
  std::FILE* pipe = ::popen(command.c_str(), "re");
  if (!pipe) return "";
  std::string said;
  char part[512];
  while (const std::size_t size = std::fread(part, 1, sizeof part, pipe)) said.append(part, size);
  ::pclose(pipe);
  said.erase(said.find_last_not_of("\r\n") + 1);
  return said.empty() ? "" : in_package(engine, said);
}

}  // namespace

std::span<const Engine> engines() { return kEngines; }

const Engine* engine_named(std::string_view name) {
  const auto found = std::ranges::find(kEngines, name, &Engine::name);
  return found == kEngines.end() ? nullptr : &*found;
}

std::string find_library(const Engine& engine) {
  const char* named = std::getenv(std::string(engine.variable).c_str());
  if (named && *named) return named;
  if (const char* prefix = std::getenv("VIRTUAL_ENV"); prefix && *prefix)
    if (std::string found = in_environment(engine, prefix); !found.empty()) return found;
  if (std::string found = of_python(engine); !found.empty()) return found;
  return std::string(engine.linker_name);
}

}  // namespace isomer
