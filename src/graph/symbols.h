// Symbols: the named dimensions of a graph, the sizes that they are bound to, and new ones where the file
// gives no name.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/result.h"
#include "graph/graph.h"

namespace isomer {

class Symbols {
 public:
  // Knows the names that the graph declares, so that a new symbol is none of them.
  explicit Symbols(const Graph& graph);

  void bind(std::string_view symbol, std::int64_t value) {
    values_.insert_or_assign(std::string(symbol), value);
  }
  // Binds the named dimensions of an input to the extents that it is given. Error: another rank or extent
  // than declared, or than the same name has elsewhere.
  Status bind(const std::string& input, const DeclaredType& declared, const Extents& extents);

  // The shape that a declaration means: bound names are numbers, dims without a name are symbols
  // "?value.axis".
  std::optional<Dims> shape(const std::string& value, const DeclaredType& declared);

  // A symbol for an extent that nothing names, different at every call.
  Dim fresh(const std::string& value, std::size_t axis);

 private:
  std::set<std::string, std::less<>> taken_;  // names that the graph declares or that were given out
  std::map<std::string, std::int64_t, std::less<>> values_;
};

}  // namespace isomer
