#include "optimizer/facts/normalization.h"

#include <algorithm>
#include <cmath>

#include "kernel/prove/shrink.h"
#include "kernel/prove/step.h"
#include "model/eval/program.h"
#include "model/graph/constant.h"
#include "model/graph/interpret.h"
#include "optimizer/facts/order.h"

namespace isomer {
namespace {

constexpr std::size_t kMostNodes = 16, kMostRegions = 4;
constexpr std::int64_t kMostElements = 1 << 20;
constexpr std::int64_t kSize = 2;    // of a named extent
constexpr double kTolerance = 1e-9;  // of float64
constexpr double kMostEpsilon = 1.0 / 16;
constexpr std::int64_t kLooks = 64;  // at elements of a value

// The axes that a node reduces; nullopt: it does something else.
std::optional<std::vector<bool>> reduced_by(const Site& site, NodeId id) {
  const auto formula = site.activations(id).size() == 1 ? site.formula(id) : std::nullopt;
  if (!formula || !is_float(formula->output(0).type)) return std::nullopt;
  std::vector<bool> out;
  const InputRoles roles = axis_roles(*formula, 0)[0];
  for (const AxisRole role : roles.axes) {
    if (role != AxisRole::Parallel && role != AxisRole::Reduced) return std::nullopt;
    out.push_back(role == AxisRole::Reduced);
  }
  return std::ranges::count(out, true) > 0 ? std::optional(out) : std::nullopt;
}

bool is_view(const Site& site, NodeId id) {
  const auto formula = site.formula(id);
  return formula && view_of(*formula) == 0;
}

// The region's outputs for pseudo-random numbers.
class Sample {
 public:
  // A sample with few positions along the kept axes, if the region allows it.
  static std::optional<Sample> of(const Site& site, Value input, Value output,
                                  const std::vector<std::size_t>& kept) {
    const auto program = region_of(site.graph, site.inference, {input}, {output});
    if (!program.ok() || program->inputs().size() != 1) return std::nullopt;
    Sizes sizes;
    for (const std::string& s : symbols_of(*program)) sizes[s] = kSize;
    const Graph whole = at_sizes(*program, sizes);
    const auto inference = infer(whole);
    const auto extents = inference.ok() ? concrete_shape(inference->of(whole.inputs()[0])) : std::nullopt;
    if (!extents) return std::nullopt;
    Extents few = *extents;
    for (const std::size_t d : kept) few[d] = std::min(few[d], kSize);
    if (auto out = at(with_input_shape(whole, whole.name_of(whole.inputs()[0]), few), few)) return out;
    return at(whole, *extents);
  }

  static std::optional<Sample> at(const Graph& program, const Extents& extents) {
    const std::int64_t count = element_count(extents).value_or(0);
    if (count < 2 || count > kMostElements) return std::nullopt;
    Sample out;
    out.extents = extents;
    for (std::int64_t k = 0; k < count; ++k)
      out.x.push_back(static_cast<double>(k * 40503 % 65536) / 32768 - 0.75);
    const Tensor numbers = Tensor::of(ElementType::Double, extents, out.x);
    const Node& input = program.node(program.inputs()[0].node);
    const auto outcome =
        interpret(program, {{input.outputs[0], convert(numbers, input.declared.type)}}, Arithmetic::Double);
    if (!outcome.ok() || outcome->opaque || outcome->outputs.size() != 1) return std::nullopt;
    const Tensor& made = outcome->outputs.begin()->second;
    const auto y = made.extents() == extents ? made.doubles() : std::nullopt;
    if (!y) return std::nullopt;
    out.y = *y;
    return out;
  }

  std::int64_t coordinate(std::int64_t at, std::size_t axis) const {
    for (std::size_t d = extents.size() - 1; d > axis; --d) at /= extents[d];
    return at % extents[axis];
  }

  Extents extents;
  std::vector<double> x, y;
};

// The numbers along the reduced axes, at some elements.
struct Along {
  std::vector<std::int64_t> at;
  std::vector<double> centred, variance, log_sum;  // of the exponentials
};

Along along(const Sample& s, const std::vector<std::size_t>& kept) {
  const auto slot = [&](std::int64_t k) {
    std::int64_t out = 0;
    for (const std::size_t d : kept) out = out * s.extents[d] + s.coordinate(k, d);
    return static_cast<std::size_t>(out);
  };
  std::size_t slots = 1;
  for (const std::size_t d : kept) slots *= static_cast<std::size_t>(s.extents[d]);
  const double per_slot = static_cast<double>(s.x.size()) / static_cast<double>(slots);
  std::vector<double> mean(slots), squares(slots), exponentials(slots);
  const auto count = static_cast<std::int64_t>(s.x.size());
  for (std::int64_t k = 0; k < count; ++k) {
    const double x = s.x[static_cast<std::size_t>(k)];
    mean[slot(k)] += x / per_slot;
    exponentials[slot(k)] += std::exp(x);
  }
  for (std::int64_t k = 0; k < count; ++k)
    squares[slot(k)] += std::pow(s.x[static_cast<std::size_t>(k)] - mean[slot(k)], 2) / per_slot;
  Along out;
  for (std::int64_t look = 0; look < std::min(kLooks, count); ++look) {
    const std::int64_t k = look * 7919 % count;
    out.at.push_back(k);
    out.centred.push_back(s.x[static_cast<std::size_t>(k)] - mean[slot(k)]);
    out.variance.push_back(squares[slot(k)]);
    out.log_sum.push_back(std::log(exponentials[slot(k)]));
  }
  return out;
}

// Whether the sample is this function of an element and of its number among those that were looked at.
template <class F>
bool is_made_by(const Sample& s, const Along& a, const F& f) {
  for (std::size_t k = 0; k < a.at.size(); ++k) {
    const double y = f(k);
    if (!(std::abs(y - s.y[static_cast<std::size_t>(a.at[k])]) <= kTolerance * (1 + std::abs(y))))
      return false;
  }
  return true;
}

struct Candidates {
  std::vector<float> epsilons;
  std::vector<Value> along{Value::none()};
};

// Constants of some nodes: single small numbers, and those that have these extents from `behind` axes before
// the end on.
Candidates candidates(const Site& site, const std::vector<NodeId>& nodes, const Extents& extents,
                      std::size_t behind) {
  Candidates out;
  for (const NodeId id : nodes)
    for (const Value& v : site.node(id).inputs) {
      const auto sizes = v.exists() && site.is_constant(v) ? site.concrete_sizes(v) : std::nullopt;
      if (!sizes || site.inference.of(v).type != ElementType::Float) continue;
      const Tensor constant = *known_constant(site.graph, v);
      if (constant.count() == 1) {
        const float number = constant.as<float>()[0];
        if (number > 0 && number < kMostEpsilon) out.epsilons.push_back(number);
      } else if (constant.count() == element_count(extents) && sizes->size() >= behind &&
                 std::equal(extents.begin(), extents.end(),
                            sizes->end() - static_cast<std::ptrdiff_t>(behind))) {
        out.along.push_back(v);
      }
    }
  return out;
}

// By its moments, with the factor and shift that fit.
bool fits_moments(const Site& site, const Sample& s, const Along& a, Normalization& n) {
  const std::size_t rank = s.extents.size();
  const bool is_layer = n.kind == Normalization::Kind::Layer;
  const std::size_t first = is_layer ? n.kept.size() : n.kept[1], count = is_layer ? rank - first : 1;
  const Extents extents(s.extents.begin() + static_cast<std::ptrdiff_t>(first),
                        s.extents.begin() + static_cast<std::ptrdiff_t>(first + count));
  const Candidates c = candidates(site, n.nodes, extents, rank - first);
  const auto number = [&](Value v, std::int64_t at, double otherwise) {
    if (!v.exists()) return otherwise;
    const std::int64_t place = is_layer ? at % element_count(extents).value_or(1) : s.coordinate(at, first);
    return static_cast<double>(known_constant(site.graph, v)->as<float>()[static_cast<std::size_t>(place)]);
  };
  for (const float epsilon : c.epsilons)
    for (const Value& scale : c.along)
      for (const Value& shift : c.along) {
        const bool fits = is_made_by(s, a, [&](std::size_t k) {
          return a.centred[k] / std::sqrt(a.variance[k] + epsilon) * number(scale, a.at[k], 1) +
                 number(shift, a.at[k], 0);
        });
        if (!fits || (is_layer && !scale.exists())) continue;
        n.epsilon = epsilon;
        n.scale = scale;
        n.shift = shift;
        return true;
      }
  return false;
}

}  // namespace

Normalizations::Normalizations(const Site& site) : site_(site) {
  for (const NodeId id : site.graph.order()) {
    if (site.node(id).kind != NodeKind::Operator || site.node(id).outputs.size() != 1) continue;
    if (auto reduced = reduced_by(site, id)) {
      parts_[id] = {.is_element_wise = false, .reduced = std::move(*reduced)};
      has_reductions_ = true;
    } else if (is_pointwise(site, id) || is_view(site, id))
      parts_[id] = {.is_element_wise = true, .reduced = {}};
  }
}

// Back to values that all of it is a function of, with reductions between.
std::vector<Normalizations::Region> Normalizations::regions(Value output) const {
  std::set<Value, LaterFirst> open({output}, LaterFirst{&site_});
  std::vector<Region> out;
  Region now;
  while (now.nodes.size() < kMostNodes && !open.empty()) {
    const Value v = *open.begin();
    const auto part = parts_.find(v.node);
    if (part == parts_.end()) break;
    if (!part->second.is_element_wise) {
      if (now.reduced.empty()) now.reduced = part->second.reduced;
      if (now.reduced != part->second.reduced) break;
    }
    open.erase(open.begin());
    now.nodes.push_back(v.node);
    for (const Value& x : site_.activations(v.node)) open.insert(x);
    if (open.size() != 1 || now.reduced.empty()) continue;
    now.input = *open.begin();
    const auto &from = site_.inference.of(now.input).shape, &to = site_.inference.of(output).shape;
    if (from && to && *from == *to && now.reduced.size() == to->size()) out.push_back(now);
    if (out.size() == kMostRegions) break;
  }
  return out;
}

std::optional<Normalization> Normalizations::ending_in(Value output) const {
  const auto formula = has_reductions_ ? site_.formula(output.node) : std::nullopt;
  if (!formula || !is_arithmetic(*formula)) return std::nullopt;
  // The largest of the regions that are one: a softmax of differences is a softmax of the minuend.
  std::optional<Normalization> out;
  for (const Region& region : regions(output)) {
    auto larger = normalization(region, output);
    if (out && !larger) break;
    out = std::move(larger);
  }
  return out;
}

std::optional<Normalization> Normalizations::normalization(const Region& region, Value output) const {
  using Kind = Normalization::Kind;
  Normalization out{.input = region.input, .output = output, .nodes = region.nodes, .kept = {}};
  const std::size_t rank = region.reduced.size();
  for (std::size_t d = 0; d < rank; ++d)
    if (!region.reduced[d]) out.kept.push_back(d);
  const bool is_suffix = std::is_sorted(region.reduced.begin(), region.reduced.end());
  const auto& shape = *site_.inference.of(output).shape;
  const auto is_number = [&](std::size_t d) { return shape[d].is_concrete(); };
  const bool is_instance = out.kept.size() == 2 && rank > 2 && is_number(out.kept[1]);
  bool is_layer = is_suffix;
  for (std::size_t d = out.kept.size(); d < rank; ++d) is_layer = is_layer && is_number(d);
  if (!is_suffix && !is_instance) return std::nullopt;
  const auto sample = Sample::of(site_, region.input, output, out.kept);
  if (!sample) return std::nullopt;
  const Along a = along(*sample, out.kept);
  if (is_suffix && out.kept.size() + 1 == rank) {
    const auto x = [&](std::size_t k) { return sample->x[static_cast<std::size_t>(a.at[k])] - a.log_sum[k]; };
    out.kind = Kind::Softmax;
    if (is_made_by(*sample, a, [&](std::size_t k) { return std::exp(x(k)); })) return out;
    out.kind = Kind::LogSoftmax;
    if (is_made_by(*sample, a, x)) return out;
  }
  out.kind = Kind::Layer;
  if (is_layer && fits_moments(site_, *sample, a, out)) return out;
  out.kind = Kind::Instance;
  if (is_instance && fits_moments(site_, *sample, a, out)) return out;
  return std::nullopt;
}

}  // namespace isomer
