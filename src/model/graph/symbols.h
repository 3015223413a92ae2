// Symbols: the named dimensions of a graph, the sizes that they are bound to, and new ones where the file
// gives no name. One for a graph and everything that runs inside of it: a new symbol is new in all of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/graph/graph.h"

namespace isomer {

class Symbols {
 public:
  // Knows the names that the graph declares, so that a new symbol is none of them.
  explicit Symbols(const Graph& graph);
  // It is not this one, either.
  void take(const std::string& name) { taken_.try_emplace(name, 0); }

  void bind(std::string_view symbol, std::int64_t value) {
    values_.insert_or_assign(std::string(symbol), value);
  }
  // Binds the named dimensions of an input to the extents that it is given. Error: another rank or extent
  // than declared, or than the same name has elsewhere.
  Status bind(const std::string& input, const DeclaredType& declared, const Extents& extents);

  // The shape that a declaration means: bound names are numbers, dims without a name are symbols
  // "?value.axis".
  std::optional<Dims> shape(const std::string& value, const DeclaredType& declared);

  // A symbol for an extent that depends on values, different at every call.
  Dim fresh(const std::string& value, std::size_t axis);

  // The symbols that `fresh` made, in order.
  const std::vector<std::string>& made() const { return made_; }
  // Whether an extent contains a symbol that was made after the first `mark` ones.
  bool is_since(std::size_t mark, const Dim& dim) const;

 private:
  std::string unused(const std::string& value, std::size_t axis);

  // Names that the graph declares or that were given out, with how many of its kind there were after it.
  std::map<std::string, int, std::less<>> taken_;
  std::vector<std::string> made_;
  std::map<std::string, std::int64_t, std::less<>> values_;
};

}  // namespace isomer
