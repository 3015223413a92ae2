#include "runtime/judge/errors.h"

#include <cmath>

#include "kernel/prove/shrink.h"
#include "model/graph/infer.h"

namespace isomer {
namespace {

bool is_affordable(const Graph& graph, const NamedTensors& feeds, double most) {
  InferOptions options;
  for (const auto& [name, tensor] : feeds) options.shapes.emplace(name, tensor.extents());
  const auto info = infer(graph, options);
  if (!info.ok()) return false;
  const auto price = operations(graph, *info);
  return price && *price < most;
}

}  // namespace

std::optional<NamedTensors> exact_outputs(const Graph& graph, const NamedTensors& feeds,
                                          double most_operations) {
  if (!is_affordable(graph, feeds, most_operations)) return std::nullopt;
  auto right = interpret(graph, feeds, Arithmetic::Faithful);
  if (!right.ok() || right->opaque) return std::nullopt;
  return std::move(right->outputs);
}

std::optional<double> error_of(const NamedTensors& outputs, const NamedTensors& exact) {
  double worst = 0;
  for (const auto& [name, right] : exact) {
    const auto at = outputs.find(name);
    if (at == outputs.end()) return std::nullopt;
    const auto y = at->second.doubles(), z = right.doubles();
    if (!y || !z || y->size() != z->size()) return std::nullopt;
    double scale = 0, gap = 0;
    for (std::size_t i = 0; i < y->size(); ++i) {
      if (!std::isfinite((*z)[i])) continue;
      scale = std::max(scale, std::abs((*z)[i]));
      const double d = std::abs((*y)[i] - (*z)[i]);
      gap = std::isfinite(d) ? std::max(gap, d) : HUGE_VAL;
    }
    if (scale > 0) worst = std::max(worst, gap / scale);
  }
  return worst;
}

}  // namespace isomer
