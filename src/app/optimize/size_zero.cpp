#include "app/optimize/size_zero.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "runtime/judge/open_sizes.h"

namespace isomer {
namespace {

constexpr std::size_t kMostSizes = 4;  // each loads both models

// Axes of inputs, by the size that they have in common.
using Axes = std::vector<std::pair<std::string, std::size_t>>;

std::map<std::string, Axes> open_axes(const Graph& graph) {
  std::map<std::string, Axes> out;
  for (const Value& v : graph.inputs()) {
    const auto& shape = graph.node(v.node).declared.shape;
    const std::string& input = graph.name_of(v);
    for (std::size_t d = 0; needs_feed(graph, v) && shape && d < shape->size(); ++d) {
      const auto& dim = (*shape)[d];
      if (dim && dim->is_concrete() && dim->concrete() >= 0) continue;
      const bool is_named = dim && !dim->is_concrete();
      out[is_named ? dim->text() : fmt::format("{}[{}]", input, d)].emplace_back(input, d);
    }
  }
  return out;
}

std::optional<std::string> difference(const NamedTensors& before, const NamedTensors& after) {
  for (const auto& [name, tensor] : before) {
    const auto at = after.find(name);
    if (at != after.end() && at->second.extents() != tensor.extents())
      return fmt::format("{} has the shape {} instead of {}", name, text(to_dims(at->second.extents())),
                         text(to_dims(tensor.extents())));
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::pair<std::string, NamedTensors>> feeds_at_zero(const Graph& graph,
                                                                const NamedTensors& feeds) {
  std::vector<std::pair<std::string, NamedTensors>> out;
  for (const auto& [size, axes] : open_axes(graph)) {
    NamedTensors changed = feeds;
    for (const auto& [input, axis] : axes) {
      const auto at = changed.find(input);
      if (at == changed.end() || axis >= at->second.extents().size()) continue;
      Extents extents = at->second.extents();
      extents[axis] = 0;
      at->second = Tensor(at->second.type(), extents, Bytes{});
    }
    if (out.size() < kMostSizes) out.emplace_back(size + "=0", std::move(changed));
  }
  return out;
}

std::vector<std::string> compare_at_zero(Judge& judge, const SizeZeroRequest& request) {
  std::vector<std::string> out;
  for (const auto& [size, feeds] : feeds_at_zero(request.graph, request.feeds)) {
    const auto before = judge.run(request.before, feeds, request.runtime);
    if (!before.ok()) continue;
    const auto after = judge.run(request.after, feeds, request.runtime);
    if (!after.ok() && after.error().kind == FailureKind::Stopped) break;
    const auto why = after.ok() ? difference(*before, *after) : "the run fails: " + after.error().what;
    if (why) out.push_back(fmt::format("{}: the original runs, but in the result {}", size, *why));
  }
  return out;
}

}  // namespace isomer
