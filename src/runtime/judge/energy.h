// EnergyCounter: the processor's energy counter (RAPL, as Linux shows it), if it exists and may be read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace isomer {

class EnergyCounter {
 public:
  // nullopt: there is none, or it can't be read.
  static std::optional<EnergyCounter> open(const std::filesystem::path& powercap = "/sys/class/powercap");

  // The energy of all packages since the first call, including other processes; nullopt: no longer readable.
  std::optional<double> joules();

 private:
  struct Package {
    std::filesystem::path folder;
    std::uint64_t last = 0, range = 0;  // microjoules; a counter begins again after its range
  };
  std::vector<Package> packages_;
  double joules_ = 0;
};

}  // namespace isomer
