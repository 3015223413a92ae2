#include "pipeline/proposer_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "propose/list.h"

namespace isomer {

std::vector<std::string> proposer_names() {
  std::vector<std::string> names;
  for (const Proposer& p : proposers()) names.push_back(p.name);
  return names;
}

Result<std::set<std::string>> proposers_named(const std::vector<std::string>& names) {
  const auto known = proposer_names();
  for (const std::string& name : names)
    if (std::ranges::find(known, name) == known.end())
      return Error{
          fmt::format("--without {}: no proposer has this name; there are {}", name, fmt::join(known, ", "))};
  return std::set<std::string>(names.begin(), names.end());
}

}  // namespace isomer
