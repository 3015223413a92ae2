#include "runtime/judge/energy.h"

#include <algorithm>
#include <fstream>

namespace isomer {
namespace {

std::optional<std::uint64_t> number_in(const std::filesystem::path& file) {
  std::uint64_t out = 0;
  std::ifstream stream(file);
  if (!(stream >> out)) return std::nullopt;
  return out;
}

}  // namespace

std::optional<EnergyCounter> EnergyCounter::open(const std::filesystem::path& powercap) {
  EnergyCounter out;
  std::error_code failure;
  for (std::filesystem::directory_iterator at(powercap, failure), end; !failure && at != end;
       at.increment(failure)) {
    // intel-rapl:0 is a package; intel-rapl:0:1 is a part of it.
    const std::string name = at->path().filename().string();
    if (!name.starts_with("intel-rapl:") || std::ranges::count(name, ':') != 1) continue;
    const auto now = number_in(at->path() / "energy_uj"),
               range = number_in(at->path() / "max_energy_range_uj");
    if (now && range) out.packages_.push_back({.folder = at->path(), .last = *now, .range = *range});
  }
  if (out.packages_.empty()) return std::nullopt;
  return out;
}

std::optional<double> EnergyCounter::joules() {
  for (Package& p : packages_) {
    const auto now = number_in(p.folder / "energy_uj");
    if (!now) return std::nullopt;
    joules_ += static_cast<double>(*now >= p.last ? *now - p.last : *now + p.range - p.last) * 1e-6;
    p.last = *now;
  }
  return joules_;
}

}  // namespace isomer
