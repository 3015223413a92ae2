#include "kernel/prove/refute.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "kernel/prove/shrink.h"
#include "model/eval/program.h"

namespace isomer {
namespace {

// Beyond what rounding in float64 explains, by many orders of magnitude.
constexpr double kFar = 1e-6;
constexpr double kMostOperations = 2e8;

// Round 0: small integers, so that zeros and ties occur; then both signs, any size.
std::optional<Tensor> drawn(const ValueInfo& info, std::uint64_t key, std::uint64_t round) {
  const auto extents = concrete_shape(info);
  if (!extents || !is_computable(info.type)) return std::nullopt;
  const auto count = static_cast<std::size_t>(element_count(*extents).value_or(0));
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = mix(mix(key + 977 * round) + i);
    if (!is_float(info.type)) values[i] = static_cast<double>(bits % 2);
    else if (round == 0) values[i] = static_cast<double>(bits % 7) - 3;
    else values[i] = (static_cast<double>(bits >> 11u) / 9007199254740992.0 - 0.5) * 4;
  }
  return convert(Tensor::of(ElementType::Double, *extents, values), info.type);
}

struct Difference {
  int output;
  Extents position;
  double a, b;
};

std::optional<Difference> first_difference(const Graph& a, const Graph& b, const RunOutcome& x,
                                           const RunOutcome& y) {
  for (std::size_t k = 0; k < a.outputs().size(); ++k) {
    const Tensor& s = x.outputs.at(a.name_of(a.outputs()[k]));
    const Tensor& t = y.outputs.at(b.name_of(b.outputs()[k]));
    if (s.extents() != t.extents()) continue;
    const auto u = s.doubles(), v = t.doubles();
    if (!u || !v) continue;
    double scale = 1;
    for (const double d : *u)
      if (std::isfinite(d)) scale = std::max(scale, std::abs(d));
    for (std::size_t i = 0; i < u->size(); ++i) {
      if (!std::isfinite((*u)[i])) continue;
      if (std::isfinite((*v)[i]) && std::abs((*u)[i] - (*v)[i]) <= kFar * scale) continue;
      return Difference{static_cast<int>(k), position_of(static_cast<std::int64_t>(i), s.extents()), (*u)[i],
                        (*v)[i]};
    }
  }
  return std::nullopt;
}

std::optional<Refuted> try_instance(const Graph& a, const Graph& b, std::uint64_t key) {
  const auto a_info = infer(a), b_info = infer(b);
  if (!a_info.ok() || !b_info.ok()) return std::nullopt;
  const auto x = operations(a, *a_info), y = operations(b, *b_info);
  if (!x || !y || *x + *y > kMostOperations) return std::nullopt;
  for (std::uint64_t round = 0; round < 3; ++round) {
    NamedTensors feeds, for_a, for_b;
    bool drew = true;
    const auto draw = [&](const Graph& graph, const Inference& info, NamedTensors& mine) {
      for (const Value& v : graph.inputs()) {
        if (graph.node(v.node).kind != NodeKind::Input) continue;
        const std::string& name = graph.name_of(v);
        if (!feeds.contains(name)) {
          auto tensor = drawn(info.of(v), key + mix(feeds.size()), round);
          if (!tensor) {
            drew = false;
            return;
          }
          feeds.emplace(name, std::move(*tensor));
        }
        mine.emplace(name, feeds.at(name));
      }
    };
    draw(a, *a_info, for_a);
    draw(b, *b_info, for_b);
    if (!drew) return std::nullopt;
    const auto left = interpret(a, for_a, Arithmetic::Double),
               right = interpret(b, for_b, Arithmetic::Double);
    if (!left.ok() || !right.ok() || left->opaque || right->opaque) return std::nullopt;
    const auto d = first_difference(a, b, *left, *right);
    if (!d) continue;
    // Where something jumps, float64 may be on the other side of it than the model is.
    const auto x64 = interpret(a, for_a, Arithmetic::Faithful),
               y64 = interpret(b, for_b, Arithmetic::Faithful);
    if (!x64.ok() || !y64.ok() || !first_difference(a, b, *x64, *y64)) continue;
    return Refuted{
        .feeds = std::move(feeds), .output = d->output, .position = d->position, .a = d->a, .b = d->b};
  }
  return std::nullopt;
}

}  // namespace

Extents position_of(std::int64_t linear, const Extents& extents) {
  Extents out(extents.size());
  for (std::size_t i = extents.size(); i-- > 0;) {
    out[i] = linear % extents[i];
    linear /= extents[i];
  }
  return out;
}

std::optional<Refuted> find_counterexample(const Graph& a, const Graph& b, const Dims& preconditions,
                                           std::uint64_t key) {
  auto symbols = symbols_of(a);
  symbols.merge(symbols_of(b));
  if (symbols.empty()) return try_instance(a, b, key);
  for (const Sizes& sizes : small_sizes(symbols, preconditions, key, 24))
    if (auto found = try_instance(at_sizes(a, sizes), at_sizes(b, sizes), key)) return found;
  return std::nullopt;
}

}  // namespace isomer
