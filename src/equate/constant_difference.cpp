#include "equate/constant_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "equate/likeness.h"
#include "kernel/prove/refute.h"
#include "model/graph/canonical_hash.h"
#include "model/graph/rebuild.h"

namespace isomer {
namespace {

// The largest difference that folding and other tools' last digits explain (kernel/prove/rounding.h allows 64
// roundings of a float), with a margin: a constant that differs by more is another number.
constexpr double kBeyondRounding = 0x1p-12;
// The noise of float64 after a long computation.
constexpr double kNoise = 1e-10;

std::map<std::string, const Tensor*> initializers(const Graph& graph) {
  std::map<std::string, const Tensor*> out;
  for (const NodeId id : graph.order())
    if (const Node& node = graph.node(id); node.kind == NodeKind::Initializer)
      out.emplace(node.outputs[0], &node.tensor);
  return out;
}

std::string grouped(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::optional<ConstantDifference> difference(const std::string& name, const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || a.extents() != b.extents() || a.same_bits(b)) return std::nullopt;
  const auto x = a.doubles(), y = b.doubles();
  if (!x || !y) return std::nullopt;
  ConstantDifference out{.name = name, .of = x->size(), .first = {}};
  for (std::size_t i = 0; i < x->size(); ++i) {
    const double u = (*x)[i], v = (*y)[i];
    if (u == v || (std::isnan(u) && std::isnan(v))) continue;
    if (out.differing++ == 0) {
      out.first = position_of(static_cast<std::int64_t>(i), a.extents());
      out.a = u;
      out.b = v;
    }
    const double apart = std::abs(u - v) / std::max(std::abs(u), std::abs(v));
    out.largest = std::max(out.largest, std::isfinite(apart) ? apart : HUGE_VAL);
  }
  return out.differing > 0 ? std::optional(out) : std::nullopt;
}

}  // namespace

std::string text(const ConstantDifference& d) {
  return fmt::format("{} differs in {} of {} element{}, first at {}: {:.6g} and {:.6g}", d.name,
                     grouped(d.differing), grouped(d.of), d.of == 1 ? "" : "s", text(to_dims(d.first)), d.a,
                     d.b);
}

std::vector<ConstantDifference> differing_constants(const Graph& a, const Graph& b) {
  std::vector<ConstantDifference> out;
  const auto of_b = initializers(b);
  for (const NodeId id : a.order()) {
    const Node& node = a.node(id);
    if (node.kind != NodeKind::Initializer) continue;
    const auto at = of_b.find(node.outputs[0]);
    if (at == of_b.end()) continue;
    if (auto found = difference(node.outputs[0], node.tensor, *at->second)) out.push_back(std::move(*found));
  }
  return out;
}

bool is_all_that_differs(const Graph& a, const Graph& b, const std::vector<ConstantDifference>& differences) {
  const auto of_a = initializers(a);
  const Graph same = with_changed_nodes(b, [&](Node& node) {
    if (node.kind != NodeKind::Initializer) return;
    const auto is_it = [&](const ConstantDifference& d) { return d.name == node.outputs[0]; };
    if (std::ranges::any_of(differences, is_it)) node.tensor = *of_a.at(node.outputs[0]);
  });
  return canonical_hashes(a, ContentDigests::Full).graph ==
         canonical_hashes(same, ContentDigests::Full).graph;
}

std::optional<Refuted> differing_by_constants(const Graph& a, const Graph& b,
                                              const std::vector<ConstantDifference>& differences,
                                              const std::atomic<bool>* stop) {
  const auto is_beyond = [](const ConstantDifference& d) { return d.largest > kBeyondRounding; };
  if (std::ranges::none_of(differences, is_beyond) || !is_all_that_differs(a, b, differences))
    return std::nullopt;
  const auto seen = Likeness::of(a, b, {.stop = stop});
  if (!seen) return find_counterexample(a, b, {}, 1);  // sizes that are not known: small ones
  for (std::size_t k = 0; k < a.outputs().size(); ++k) {
    const Tensor* x = seen->output_of_a(a.name_of(a.outputs()[k]));
    const Tensor* y = seen->output_of_b(b.name_of(b.outputs()[k]));
    if (x == nullptr || y == nullptr || x->extents() != y->extents()) continue;
    const auto u = x->doubles(), v = y->doubles();
    if (!u || !v) continue;
    double scale = 1e-30;
    for (const double d : *u)
      if (std::isfinite(d)) scale = std::max(scale, std::abs(d));
    std::optional<std::size_t> worst;
    for (std::size_t i = 0; i < u->size(); ++i)
      if (std::isfinite((*u)[i]) && std::isfinite((*v)[i]) && std::abs((*u)[i] - (*v)[i]) > kNoise * scale &&
          (!worst || std::abs((*u)[i] - (*v)[i]) > std::abs((*u)[*worst] - (*v)[*worst])))
        worst = i;
    if (!worst) continue;
    return Refuted{.feeds = seen->feeds(),
                   .output = static_cast<int>(k),
                   .position = position_of(static_cast<std::int64_t>(*worst), x->extents()),
                   .a = (*u)[*worst],
                   .b = (*v)[*worst]};
  }
  return std::nullopt;
}

}  // namespace isomer
