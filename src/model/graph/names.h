// Values by their names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/graph/graph.h"

namespace isomer {

using ValuesByName = std::map<std::string, Value, std::less<>>;

// Every value that has a name.
ValuesByName values_by_name(const Graph& graph);

// In their order; "" for one that is absent.
std::vector<std::string> names_of(const Graph& graph, const std::vector<Value>& values);

}  // namespace isomer
