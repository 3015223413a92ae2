#include "app/optimize/proposer_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "optimizer/propose/list.h"

namespace isomer {

std::vector<std::string> proposer_names() {
  std::vector<std::string> names;
  for (const Proposer* p : proposers()) names.emplace_back(p->name);
  return names;
}

Result<std::set<std::string>> left_out_proposers(const std::vector<std::string>& without,
                                                 const std::vector<std::string>& only) {
  const auto known = proposer_names();
  for (const auto& [option, names] : {std::pair("--without", &without), {"--only", &only}})
    for (const std::string& name : *names)
      if (std::ranges::find(known, name) == known.end())
        return Error{fmt::format("{} {}: no proposer has this name; there are {}", option, name,
                                 fmt::join(known, ", "))};
  std::set<std::string> out(without.begin(), without.end());
  if (!only.empty())
    for (const std::string& name : known)
      if (std::ranges::find(only, name) == only.end()) out.insert(name);
  return out;
}

}  // namespace isomer
