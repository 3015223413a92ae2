#include "model/graph/symbols.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/graph/text/spelling.h"

namespace isomer {

Symbols::Symbols(const Graph& graph) {
  const auto note = [&](const DeclaredType& type) {
    if (!type.shape) return;
    for (const auto& dim : *type.shape) {
      if (!dim || dim->is_concrete()) continue;
      for (const std::string& symbol : dim->symbols()) take(symbol);
    }
  };
  for (const Value& input : graph.inputs()) note(graph.node(input.node).declared);
  for (const auto& [name, type] : graph.declared()) note(type);
}

Status Symbols::bind(const std::string& input, const DeclaredType& declared, const Extents& extents) {
  const auto refusal = [&](const std::string& why) {
    return Error{fmt::format("input {}: expected shape {}, got {}{}", input, spell(declared),
                             spell(declared.type, extents), why)};
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

// ?x.0, ?x.0', ?x.0'2, ?x.0'3, ...
std::string Symbols::unused(const std::string& value, std::size_t axis) {
  const std::string first = fmt::format("?{}.{}", value, axis);
  auto [known, is_new] = taken_.try_emplace(first, 0);
  for (std::string name = first;; is_new = taken_.try_emplace(name, 0).second) {
    if (is_new) return name;
    const int k = ++known->second;
    name = k == 1 ? first + "'" : fmt::format("{}'{}", first, k);
  }
}

Dim Symbols::fresh(const std::string& value, std::size_t axis) {
  return Dim::symbol(made_.emplace_back(unused(value, axis)));
}

bool Symbols::is_since(std::size_t mark, const Dim& dim) const {
  const auto symbols = dim.symbols();
  return std::any_of(made_.begin() + static_cast<std::ptrdiff_t>(mark), made_.end(),
                     [&](const std::string& s) { return std::ranges::find(symbols, s) != symbols.end(); });
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
    if (is_given) dims.push_back(dim->substitute(bound));
    else dims.push_back(Dim::symbol(unused(value, dims.size())));
  }
  return dims;
}

}  // namespace isomer
