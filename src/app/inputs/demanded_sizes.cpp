#include "app/inputs/demanded_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace isomer {
namespace {

constexpr std::int64_t kLargest = 4096;  // that is tried
constexpr std::size_t kFew = 16;         // more are no demand
constexpr std::size_t kMostConditions = 64;

// As inference calls a dimension without a name.
std::string symbol_of(const AssumedSize& size) {
  const auto bracket = size.name.rfind('[');
  if (bracket == std::string::npos || !size.name.ends_with(']')) return size.name;
  return fmt::format("?{}.{}", size.name.substr(0, bracket),
                     size.name.substr(bracket + 1, size.name.size() - bracket - 2));
}

// Conditions on one symbol alone, by symbol.
std::map<std::string, std::vector<Dim>> conditions_of(const Inference& inference) {
  std::map<std::string, std::vector<Dim>> out;
  for (const auto& [node, conditions] : inference.conditions)
    for (const SizeCondition& c : conditions) {
      const auto symbols = c.extent.symbols();
      if (c.kind != SizeCondition::Kind::Needed || symbols.size() != 1) continue;
      std::vector<Dim>& of = out[symbols[0]];
      if (std::ranges::find(of, c.extent) == of.end()) of.push_back(c.extent);
    }
  return out;
}

}  // namespace

std::vector<std::int64_t> demanded_sizes(const Graph& graph, const InferOptions& given,
                                         const std::vector<AssumedSize>& open) {
  std::vector<std::int64_t> out;
  const auto inference = infer(graph, given);
  if (!inference.ok()) return out;
  const auto conditions = conditions_of(*inference);
  for (const AssumedSize& size : open) {
    const auto of = conditions.find(symbol_of(size));
    if (of == conditions.end() || of->second.size() > kMostConditions) continue;
    std::vector<std::int64_t> fitting;
    for (std::int64_t n = 1; n <= kLargest && fitting.size() <= kFew; ++n) {
      const auto holds = [&](const Dim& extent) {
        const auto number = extent.evaluate([&](std::string_view) { return std::optional(n); });
        return !number || *number >= 0;
      };
      if (std::ranges::all_of(of->second, holds)) fitting.push_back(n);
    }
    if (fitting.size() <= kFew) out.insert(out.end(), fitting.rbegin(), fitting.rend());
  }
  return out;
}

}  // namespace isomer
