#include "app/inputs/size_sets.h"

#include <algorithm>
#include <set>

namespace isomer {

std::vector<std::vector<std::string>> size_sets(const std::vector<std::string>& arguments) {
  const auto name_of = [](const std::string& argument) { return argument.substr(0, argument.rfind('=')); };
  std::vector<std::vector<std::string>> sets(1);
  std::set<std::string> said;  // in the last set
  for (const std::string& argument : arguments) {
    const std::string name = name_of(argument);
    if (said.contains(name)) {
      sets.push_back(sets.back());
      said.clear();
    }
    said.insert(name);
    std::vector<std::string>& last = sets.back();
    const auto known = std::ranges::find(last, name, name_of);
    if (known == last.end()) last.push_back(argument);
    else *known = argument;
  }
  return sets;
}

}  // namespace isomer
