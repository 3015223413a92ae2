#include "base/installed_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace isomer {
namespace {

namespace fs = std::filesystem;

// The library in an installed package, or "".
std::string in_package(const InstalledLibrary& library, const fs::path& package) {
  std::error_code failure;
  std::string best;
  for (const auto& entry : fs::directory_iterator(package / library.folder, failure))
    if (entry.path().filename().string().starts_with(library.file))
      best = std::max(best, entry.path().string());
  return best;
}

std::string in_environment(const InstalledLibrary& library, const fs::path& prefix) {
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(prefix / "lib", failure)) {
    if (!entry.path().filename().string().starts_with("python3")) continue;
    std::string found = in_package(library, entry.path() / "site-packages" / library.package);
    if (!found.empty()) return found;
  }
  return "";
}

// Runs the interpreter, because only it knows its path. The package itself is not imported.
std::string of_python(const InstalledLibrary& library) {
  const std::string command = fmt::format(
      "python3 -c 'import importlib.util as u; s = u.find_spec(\"{}\"); "
      "print(s.submodule_search_locations[0] "
      "if s else \"\")' 2>/dev/null",
      library.package);
  std::FILE* pipe = ::popen(command.c_str(), "re");
  if (!pipe) return "";
  std::string said;
  char part[512];
  while (const std::size_t size = std::fread(part, 1, sizeof part, pipe)) said.append(part, size);
  ::pclose(pipe);
  said.erase(said.find_last_not_of("\r\n") + 1);
  return said.empty() ? "" : in_package(library, said);
}

}  // namespace

std::string find_library(const InstalledLibrary& library) {
  const char* named = std::getenv(std::string(library.variable).c_str());
  if (named && *named) return named;
  if (const char* prefix = std::getenv("VIRTUAL_ENV"); prefix && *prefix)
    if (std::string found = in_environment(library, prefix); !found.empty()) return found;
  if (std::string found = of_python(library); !found.empty()) return found;
  return std::string(library.linker_name);
}

}  // namespace isomer
