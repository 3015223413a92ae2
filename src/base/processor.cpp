#include "base/processor.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string_view>

namespace isomer {

std::string processor_features() {
  std::ifstream info("/proc/cpuinfo");
  std::string line, out;
  while (std::getline(info, line) && !line.starts_with("flags")) line.clear();
  std::istringstream words(line.substr(std::min(line.size(), line.find(':') + 1)));
  constexpr std::array<std::string_view, 9> kUsed{"sse4", "ssse3", "popcnt", "avx",  "fma",
                                                  "f16c", "bmi",   "amx",    "movbe"};
  for (std::string word; words >> word;)
    if (std::ranges::any_of(kUsed, [&](std::string_view used) { return word.starts_with(used); }))
      out += (out.empty() ? "" : " ") + word;
  return out;
}

}  // namespace isomer
