#include "equate/differing_input.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/hash.h"
#include "kernel/prove/refute.h"
#include "model/eval/program.h"
#include "model/graph/constant.h"
#include "model/graph/rebuild.h"

namespace isomer {
namespace {

// Constants are folded with an error of a few units in the last place of their type: 32 of them at once, and
// eight times what that does.
constexpr double kShake = 32, kFarBeyond = 8;

// Half a unit in the last place of 1, and of the smallest numbers that are not 0; the largest number.
struct Precision {
  double relative, absolute, largest;
};
std::optional<Precision> precision(ElementType type) {
  switch (type) {
    case ElementType::Double: return Precision{0x1p-53, 0x1p-1074, 0x1.fffffffffffffp1023};
    case ElementType::Float: return Precision{0x1p-24, 0x1p-150, 0x1.fffffep127};
    case ElementType::Float16: return Precision{0x1p-11, 0x1p-25, 65504};
    case ElementType::BFloat16: return Precision{0x1p-8, 0x1p-134, 0x1.fep127};
    default: return std::nullopt;
  }
}

enum class Shake : std::uint8_t { Mixed, Up, Down };

// A model with every element of some of its constants a little larger or smaller.
Graph with_shaken_constants(const Graph& graph, Shake shake,
                            const std::function<bool(const Tensor&)>& is_shaken) {
  return with_changed_nodes(graph, [&](Node& node) {
    const auto shaken = [&](const Tensor& tensor) {
      const bool is_own = is_shaken(tensor);
      const auto unit = precision(tensor.type());
      const auto numbers = tensor.doubles();
      if (!is_own || !unit || !numbers) return tensor;
      std::vector<double> values;
      for (const double v : *numbers) {
        const double most = kShake * (std::abs(v) * unit->relative + unit->absolute);
        const bool is_up = shake == Shake::Mixed ? mix(values.size()) % 2 == 0 : shake == Shake::Up;
        const double shifted = is_up ? v + most : v - most;
        values.push_back(std::abs(shifted) > unit->largest ? 2 * v - shifted
                                                           : shifted);  // none becomes infinite
      }
      return convert(Tensor::of(ElementType::Double, tensor.extents(), values), tensor.type());
    };
    if (node.kind == NodeKind::Initializer) node.tensor = shaken(node.tensor);
    else if (const auto* value = node.attributes.find_as<Tensor>("value"); value && is_constant_node(node))
      node.attributes.set("value", shaken(*value));
  });
}

std::vector<Tensor> float_constants(const Graph& graph) {
  std::vector<Tensor> out;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const Tensor* tensor = node.kind == NodeKind::Initializer ? &node.tensor
                           : is_constant_node(node)           ? node.attributes.find_as<Tensor>("value")
                                                              : nullptr;
    if (tensor != nullptr && precision(tensor->type())) out.push_back(*tensor);
  }
  return out;
}

// Whether the first model itself jumps about as far when it is rounded: what was folded (positions by a
// logarithm, cast to an integer) is rounded before it jumps, in float32 to the other side than in float64.
// Seen by making constants that only the first model has a little larger, and a little smaller.
bool is_rounding_at_a_jump(const Graph& a, const Graph& b, const Refuted& found, std::size_t element,
                           const Likeness::Options& feeds) {
  const std::vector<Tensor> of_b = float_constants(b);
  const auto is_shaken = [&](const Tensor& tensor) {
    return std::ranges::none_of(of_b, [&](const Tensor& c) {
      return c.type() == tensor.type() && c.extents() == tensor.extents() && c.same_bits(tensor);
    });
  };
  if (std::ranges::none_of(float_constants(a), is_shaken)) return false;
  for (const Shake shake : {Shake::Up, Shake::Down}) {
    const auto seen = Likeness::of(with_shaken_constants(a, shake, is_shaken), b, feeds);
    if (!seen) return true;  // unknown
    const auto k = static_cast<std::size_t>(found.output);
    const Tensor* x = seen->output_of_a(a.name_of(a.outputs()[k]));
    const auto values = x != nullptr ? x->doubles() : std::nullopt;
    if (!values || element >= values->size()) return true;
    const double at = (*values)[element];
    if (!(kFarBeyond * std::abs(at - found.a) < std::abs(found.b - found.a))) return true;
  }
  return false;
}

}  // namespace

std::optional<Refuted> differing_input(const Graph& a, const Graph& b, const std::vector<Tensor>& own,
                                       const std::vector<bool>& proved, const Likeness::Options& feeds) {
  const auto seen = Likeness::of(a, b, feeds);
  if (!seen) return std::nullopt;
  // Constants that only the second model has may be rounded. Small changes of them show the possible effect
  // of rounding; a much larger difference is not explained by it.
  std::optional<Likeness> shaken;
  if (!own.empty()) {
    const auto is_own = [&](const Tensor& tensor) {
      return std::ranges::any_of(own, [&](const Tensor& c) { return c.bytes().data == tensor.bytes().data; });
    };
    shaken = Likeness::of(a, with_shaken_constants(b, Shake::Mixed, is_own), feeds);
    if (!shaken) return std::nullopt;
  }
  for (std::size_t k = 0; k < a.outputs().size(); ++k) {
    if (proved[k]) continue;
    const Tensor* x = seen->output_of_a(a.name_of(a.outputs()[k]));
    const Tensor* y = seen->output_of_b(b.name_of(b.outputs()[k]));
    if (x == nullptr || y == nullptr || x->extents() != y->extents()) continue;
    const auto u = x->doubles(), v = y->doubles();
    if (!u || !v) continue;
    double scale = is_float(x->type()) ? 1e-30 : 1;
    for (const double d : *u)
      if (std::isfinite(d)) scale = std::max(scale, std::abs(d));
    double far = 1e-6 * scale;
    if (shaken) {
      const Tensor* z = shaken->output_of_b(b.name_of(b.outputs()[k]));
      const auto w = z != nullptr && z->extents() == y->extents() ? z->doubles() : std::nullopt;
      if (!w) continue;
      for (std::size_t i = 0; i < w->size(); ++i)
        if (std::isfinite((*v)[i])) far = std::max(far, kFarBeyond * std::abs((*w)[i] - (*v)[i]));
    }
    for (std::size_t i = 0; i < u->size(); ++i) {
      if (!std::isfinite((*u)[i])) continue;
      if (std::isfinite((*v)[i]) && std::abs((*u)[i] - (*v)[i]) <= far) continue;
      Refuted found{.feeds = seen->feeds(),
                    .output = static_cast<int>(k),
                    .position = position_of(static_cast<std::int64_t>(i), x->extents()),
                    .a = (*u)[i],
                    .b = (*v)[i]};
      if (is_rounding_at_a_jump(a, b, found, i, feeds)) return std::nullopt;
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace isomer
