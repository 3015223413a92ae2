#include "runtime/judge/machine.h"

#include <array>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include "base/hash.h"
#include "base/own_file.h"

namespace isomer {
namespace {

// The flags by which runtimes choose kernels; others change with Linux kernels and hypervisors.
constexpr std::array<std::string_view, 17> kChosenBy = {
    "sse4_2",   "avx",      "f16c",        "fma",      "avx2",        "avx512f",
    "avx512bw", "avx512vl", "avx512_vnni", "avx_vnni", "avx512_bf16", "avx512_fp16",
    "amx_tile", "amx_int8", "amx_bf16",    "asimddp",  "i8mm"};

std::string value_of(const std::string& line) {
  const auto colon = line.find(':');
  return colon == std::string::npos || colon + 2 > line.size() ? "" : line.substr(colon + 2);
}

MachineName read_machine() {
  MachineName machine;
  std::set<std::string> flags;
  std::ifstream file("/proc/cpuinfo");
  std::string family, number, stepping, model;
  for (std::string line; std::getline(file, line) && !line.empty();) {  // the first CPU
    if (line.starts_with("model name")) model = value_of(line);
    if (line.starts_with("cpu family")) family = value_of(line);
    if (line.starts_with("model\t")) number = value_of(line);
    if (line.starts_with("stepping")) stepping = value_of(line);
    if (line.starts_with("flags") || line.starts_with("Features")) {
      std::istringstream words(value_of(line));
      for (std::string word; words >> word;) flags.insert(word);
    }
  }
  // Hypervisors give many machines one name; the numbers distinguish more.
  machine.cpu = model + " (" + family + '/' + number + '/' + stepping + ')';
  for (const std::string_view flag : kChosenBy)
    if (flags.contains(std::string(flag)))
      machine.isa += (machine.isa.empty() ? "" : " ") + std::string(flag);
  return machine;
}

}  // namespace

const std::string& this_program() {
  static const std::string kDigest = [] {
    std::ifstream file(own_file(), std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return Hasher().add(std::string_view(bytes.view())).digest().hex();
  }();
  return kDigest;
}

const MachineName& this_machine() {
  static const MachineName kMachine = read_machine();
  return kMachine;
}

}  // namespace isomer
