#include "base/own_file.h"

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace isomer {

// The kernel's word, since the loader only repeats argv[0], which may be a name in no folder.
std::filesystem::path own_file() {
  const auto here = reinterpret_cast<std::uintptr_t>(&own_file);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    words >> std::hex >> begin >> dash >> end;
    if (!words || here < begin || here >= end) continue;
    const auto path = line.find('/');
    return path == std::string::npos ? "" : line.substr(path);
  }
  return {};
}

}  // namespace isomer
