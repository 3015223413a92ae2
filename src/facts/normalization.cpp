#include "facts/normalization.h"

#include <algorithm>
#include <cmath>

#include "eval/program.h"
#include "facts/order.h"
#include "graph/constant.h"
#include "graph/interpret.h"
#include "prove/shrink.h"

namespace isomer {
namespace {

constexpr std::size_t kMostNodes = 16;
constexpr std::int64_t kMostElements = 1 << 20;
constexpr std::int64_t kSize = 2;    // of a named extent
constexpr double kTolerance = 1e-9;  // of float64
constexpr double kMostEpsilon = 1.0 / 16;
constexpr std::int64_t kLooks = 64;  // at elements of a value

// Parts of it: reductions of one value, functions of single elements, and views.
struct Region {
  Value input;
  std::vector<NodeId> nodes;
  std::vector<bool> reduced;  // per axis of the input
};

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

bool is_arithmetic(const Site& site, Value v) {
  const auto formula = site.formula(v.node);
  if (!formula || formula->output(0).value->kind != ExprNode::Kind::Apply) return false;
  const Fn fn = formula->output(0).value->fn;
  return fn == Fn::Add || fn == Fn::Sub || fn == Fn::Mul || fn == Fn::Div;
}

// Back to the first value that all of it is a function of, with two reductions between.
std::optional<Region> region_at(const Site& site, Value output) {
  const auto is_later = [&](Value a, Value b) {
    return a.node != b.node ? site.position(a.node) > site.position(b.node) : a.output < b.output;
  };
  std::set<Value, decltype(is_later)> open({output}, is_later);
  Region out;
  int reductions = 0;
  while (out.nodes.size() < kMostNodes) {
    const Value v = *open.begin();
    if (site.node(v.node).kind != NodeKind::Operator || v.output != 0) return std::nullopt;
    if (const auto reduced = reduced_by(site, v.node)) {
      if (reductions++ == 0) out.reduced = *reduced;
      if (out.reduced != *reduced) return std::nullopt;
    } else if (!is_pointwise(site, v.node) && !is_view(site, v.node)) return std::nullopt;
    open.erase(open.begin());
    out.nodes.push_back(v.node);
    for (const Value& x : site.activations(v.node)) open.insert(x);
    if (open.size() != 1 || reductions < 2) continue;
    out.input = *open.begin();
    const auto &from = site.inference.of(out.input).shape, &to = site.inference.of(output).shape;
    if (from && to && *from == *to) return out;
  }
  return std::nullopt;
}

// What the region makes of numbers that look random.
class Sample {
 public:
  static std::optional<Sample> of(const Site& site, const Region& region, Value output) {
    auto program = region_of(site.graph, site.inference, {region.input}, {output});
    if (!program.ok() || program->inputs().size() != 1) return std::nullopt;
    Sizes sizes;
    for (const std::string& s : symbols_of(*program)) sizes[s] = kSize;
    const Graph at = at_sizes(*program, sizes);
    const auto inference = infer(at);
    const auto extents = inference.ok() ? concrete_shape(inference->of(at.inputs()[0])) : std::nullopt;
    if (!extents || element_count(*extents) > kMostElements || element_count(*extents) < 2)
      return std::nullopt;
    Sample out;
    out.extents = *extents;
    for (std::int64_t k = 0; k < element_count(*extents); ++k)
      out.x.push_back(static_cast<double>(k * 40503 % 65536 / 64) / 512 - 0.75);
    const Tensor numbers = Tensor::of(ElementType::Double, *extents, out.x);
    const auto outcome =
        interpret(at, {{at.name_of(at.inputs()[0]), convert(numbers, inference->of(at.inputs()[0]).type)}},
                  Arithmetic::Double);
    if (!outcome.ok() || outcome->opaque || outcome->outputs.size() != 1) return std::nullopt;
    const auto y = outcome->outputs.begin()->second.doubles();
    if (!y || y->size() != out.x.size()) return std::nullopt;
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

// Elements less their mean, and the mean of their squares, at some elements.
struct Moments {
  std::vector<std::int64_t> at;
  std::vector<double> centred, variance;
};

Moments moments(const Sample& s, std::size_t batch, std::size_t channel) {
  const std::int64_t channels = s.extents[channel];
  const auto slot = [&](std::int64_t k) {
    return static_cast<std::size_t>(s.coordinate(k, batch) * channels + s.coordinate(k, channel));
  };
  const auto slots = static_cast<std::size_t>(s.extents[batch] * channels);
  const double per_slot = static_cast<double>(s.x.size()) / static_cast<double>(slots);
  std::vector<double> sum(slots), squares(slots);
  const auto count = static_cast<std::int64_t>(s.x.size());
  for (std::int64_t k = 0; k < count; ++k) sum[slot(k)] += s.x[static_cast<std::size_t>(k)] / per_slot;
  for (std::int64_t k = 0; k < count; ++k)
    squares[slot(k)] += std::pow(s.x[static_cast<std::size_t>(k)] - sum[slot(k)], 2) / per_slot;
  Moments out;
  for (std::int64_t look = 0; look < std::min(kLooks, count); ++look) {
    const std::int64_t k = look * 7919 % count;
    out.at.push_back(k);
    out.centred.push_back(s.x[static_cast<std::size_t>(k)] - sum[slot(k)]);
    out.variance.push_back(squares[slot(k)]);
  }
  return out;
}

struct Candidates {
  std::vector<float> epsilons;
  std::vector<Value> along_channels{Value::none()};
};

// The region's constants: single small numbers, and those with an element per channel.
Candidates candidates(const Site& site, const Region& region, std::size_t rank, std::size_t channel,
                      std::int64_t channels) {
  Candidates out;
  for (const NodeId id : region.nodes)
    for (const Value& v : site.node(id).inputs) {
      const auto sizes = v.exists() && site.is_constant(v) ? site.concrete_sizes(v) : std::nullopt;
      if (!sizes || site.inference.of(v).type != ElementType::Float) continue;
      const Tensor constant = *known_constant(site.graph, v);
      const std::size_t behind = rank - channel;  // axes from the channels on
      if (constant.count() == 1) {
        const float number = constant.as<float>()[0];
        if (number > 0 && number < kMostEpsilon) out.epsilons.push_back(number);
      } else if (constant.count() == channels && sizes->size() >= behind &&
                 (*sizes)[sizes->size() - behind] == channels) {
        out.along_channels.push_back(v);
      }
    }
  return out;
}

}  // namespace

std::optional<Normalization> normalization_at(const Site& site, Value output) {
  if (site.rank(output) < 3 || !is_arithmetic(site, output)) return std::nullopt;
  const auto region = region_at(site, output);
  if (!region || std::ranges::count(region->reduced, false) != 2) return std::nullopt;
  Normalization out{.input = region->input, .output = output, .nodes = region->nodes};
  const auto kept = std::ranges::find(region->reduced, false);
  out.batch = static_cast<std::size_t>(kept - region->reduced.begin());
  out.channel =
      static_cast<std::size_t>(std::find(kept + 1, region->reduced.end(), false) - region->reduced.begin());
  const Dim channels = (*site.inference.of(output).shape)[out.channel];
  const auto sample = channels.is_concrete() ? Sample::of(site, *region, output) : std::nullopt;
  if (!sample) return std::nullopt;
  const Candidates c = candidates(site, *region, site.rank(output), out.channel, channels.concrete());
  const Moments m = moments(*sample, out.batch, out.channel);
  const auto number = [&](Value v, std::int64_t at, double otherwise) {
    if (!v.exists()) return otherwise;
    return static_cast<double>(
        known_constant(site.graph, v)
            ->as<float>()[static_cast<std::size_t>(sample->coordinate(at, out.channel))]);
  };
  for (const float epsilon : c.epsilons)
    for (const Value& scale : c.along_channels)
      for (const Value& shift : c.along_channels) {
        bool holds = true;
        for (std::size_t k = 0; k < m.at.size() && holds; ++k) {
          const double y = m.centred[k] / std::sqrt(m.variance[k] + epsilon) * number(scale, m.at[k], 1) +
                           number(shift, m.at[k], 0);
          holds =
              std::abs(y - sample->y[static_cast<std::size_t>(m.at[k])]) <= kTolerance * (1 + std::abs(y));
        }
        if (!holds) continue;
        out.epsilon = epsilon;
        out.scale = scale;
        out.shift = shift;
        return out;
      }
  return std::nullopt;
}

}  // namespace isomer
