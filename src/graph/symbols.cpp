#include "graph/symbols.h"

#include <fmt/format.h>

#include "graph/spelling.h"

namespace isomer {

Symbols::Symbols(const Graph& graph) {
  const auto note = [&](const DeclaredType& type) {
    if (!type.shape) return;
    for (const auto& dim : *type.shape) {
      if (!dim || dim->is_concrete()) continue;
      for (std::string& symbol : dim->symbols()) taken_.insert(std::move(symbol));
    }
  };
  for (const Value& input : graph.inputs()) note(graph.node(input.node).declared);
  for (const auto& [name, type] : graph.declared()) note(type);
}

Status Symbols::bind(const std::string& input, const DeclaredType& declared, const Extents& extents) {
  const auto refusal = [&](const std::string& why) {
    return Error{fmt::format("input {}: expected shape {}, got {}{}", input, spelled(declared),
                             spelled(declared.type, extents), why)};
  };
  for (const std::int64_t extent : extents)
    if (extent < 0) return refusal(": an extent is negative");
  if (!declared.shape) return Done{};
  if (declared.shape->size() != extents.size()) return refusal("");
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const auto& dim = (*declared.shape)[i];
    if (!dim) continue;
    if (const auto value = dim->value()) {
      if (*value >= 0 && *value != extents[i]) return refusal("");
      continue;
    }
    const auto names = dim->symbols();
    if (names.size() != 1 || !(*dim == Dim::symbol(names[0]))) continue;
    const auto [at, first] = values_.try_emplace(names[0], extents[i]);
    if (!first && at->second != extents[i])
      return refusal(fmt::format(", where {} is {}", names[0], at->second));
  }
  return Done{};
}

Dim Symbols::fresh(const std::string& value, std::size_t axis) {
  std::string name = fmt::format("?{}.{}", value, axis);
  while (!taken_.insert(name).second) name += '\'';
  return Dim::symbol(name);
}

std::optional<Dims> Symbols::shape(const std::string& value, const DeclaredType& declared) {
  if (!declared.is_tensor || !declared.shape) return std::nullopt;
  const auto bound = [&](std::string_view symbol) {
    const auto at = values_.find(symbol);
    return at == values_.end() ? Dim::symbol(symbol) : Dim(at->second);
  };
  Dims dims;
  for (const auto& dim : *declared.shape) {
    // Some exporters write -1 for "any".
    const bool is_given = dim && !(dim->is_concrete() && dim->concrete() < 0);
    dims.push_back(is_given ? dim->substitute(bound) : fresh(value, dims.size()));
  }
  return dims;
}

}  // namespace isomer
