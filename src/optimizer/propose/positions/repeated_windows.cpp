// A convolution of parts that are constant along some axes, beside parts that are not: the convolution is the
// sum of those of its parts. Along an axis on which a part is constant, an output depends only on which of
// the kernel's positions meet the part and not the border. There are few such classes; each is a sum over
// some of the kernel, computed once, and looked up where it is added. Where an extent has a name, the
// positions of the classes are unknown: then each position of the kernel is computed once, and a small
// product selects those that an output reads.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "optimizer/facts/convolution.h"
#include "optimizer/facts/repeated_constant.h"
#include "optimizer/propose/positions/once_writer.h"
#include "optimizer/propose/positions/repeated.h"

namespace isomer {
namespace {

constexpr const char* kKind = "repeated";
constexpr std::size_t kMostParts = 16;

// Positions of an output along one axis by what they see of the kernel.
struct Classes {
  std::vector<std::pair<std::int64_t, std::int64_t>> seen;  // of each class, the kernel's positions: from, to
  std::vector<std::int64_t> of = {};                        // of each position; empty: there is one class
  bool is_open = false;  // the positions are not known: each of the kernel's is a class, and outputs see some
  std::int64_t count() const { return static_cast<std::int64_t>(seen.size()); }
};

// Along a spatial axis.
Classes classes_along(const Site& site, const Convolution& c, std::size_t axis) {
  const std::int64_t kernel = c.kernel[axis], before = c.pads[axis], after = c.pads[c.kernel.size() + axis];
  if (before == 0 && after == 0) return Classes{.seen = {{0, kernel}}};
  const Dim x = (*site.inference.of(c.x).shape)[axis + 2];
  const Dim y = (*site.inference.of({c.id, 0}).shape)[axis + 2];
  Classes out;
  if (!x.is_concrete() || !y.is_concrete()) {
    for (std::int64_t k = 0; k < kernel; ++k) out.seen.emplace_back(k, k + 1);
    out.is_open = true;
    return out;
  }
  for (std::int64_t p = 0; p < y.concrete(); ++p) {
    const auto is_seen = [&](std::int64_t k) {
      const std::int64_t at = c.strides[axis] * p + c.dilations[axis] * k - before;
      return at >= 0 && at < x.concrete();
    };
    std::int64_t from = 0, to = kernel;
    while (from < to && !is_seen(from)) ++from;
    while (to > from && !is_seen(to - 1)) --to;
    const auto at = std::ranges::find(out.seen, std::pair(from, to));
    out.of.push_back(at - out.seen.begin());
    if (at == out.seen.end()) out.seen.emplace_back(from, to);
  }
  if (out.count() == 1) out.of.clear();
  return out;
}

struct Part {
  Value value;
  std::int64_t begin = 0, end = 0;  // its channels
};

class Windows {
 public:
  Windows(const Site& site, const ConstantAxes& constants, Convolution c)
      : site_(site),
        constants_(constants),
        c_(std::move(c)),
        b_(site.graph, site.name({c_.id, 0})),
        once_(site, constants, b_) {}

  std::optional<Proposal> proposal() {
    if (c_.groups != 1 || site_.inference.of(c_.x).type != ElementType::Float ||
        !site_.inference.of(c_.x).shape || !add_parts(c_.x, 0, 0))
      return std::nullopt;
    std::vector<Part> others;
    std::map<AxisSet, std::vector<Part>> repeated;
    bool has_zero = false;
    for (const Part& p : parts_) {
      const AxisSet axes = axes_of(p.value);
      if (is_zero(p.value)) has_zero = true;
      else if (is_empty(axes) && !site_.is_constant(p.value)) others.push_back(p);
      else repeated[axes].push_back(p);
    }
    if ((repeated.empty() && !has_zero) || (repeated.empty() && others.empty())) return std::nullopt;
    std::optional<Value> sum;
    for (const auto& [axes, parts] : repeated) {
      const auto value = once(axes, parts);
      if (!value) return std::nullopt;
      sum = sum ? b_.op("Add", {*sum, *value}) : *value;
    }
    if (!others.empty()) {
      const Value dense = convolve(others);
      sum = sum ? b_.op("Add", {dense, *sum}) : dense;
    } else {
      if (c_.bias.exists()) sum = b_.op("Add", {*sum, bias()});
      if (!is_whole(repeated)) {
        const auto sizes = site_.concrete_sizes({c_.id, 0});
        if (!sizes) return std::nullopt;
        sum = b_.op("Expand", {*sum, b_.integers(*sizes)});
      }
    }
    return propose(site_, kKind, fmt::format("{} sees what is repeated once", label(site_.node(c_.id))), b_,
                   {{c_.id, 0}}, {*sum});
  }

 private:
  std::size_t rank() const { return c_.kernel.size() + 2; }

  // The input, or what it is concatenated of.
  bool add_parts(Value v, std::int64_t begin, std::size_t depth) {
    const auto& shape = site_.inference.of(v).shape;
    const auto concat = site_.made_by(v, "Concat");
    if (!shape || !(*shape)[1].is_concrete() || parts_.size() > kMostParts || depth > kMostParts)
      return false;
    const std::int64_t axis = concat ? attribute(site_.node(*concat), "axis", std::int64_t{0}) : 0;
    if (axis != 1 && axis + static_cast<std::int64_t>(rank()) != 1) {
      parts_.push_back({v, begin, begin + (*shape)[1].concrete()});
      return true;
    }
    for (const Value& part : site_.node(*concat).inputs) {
      if (!add_parts(part, begin, depth + 1)) return false;
      begin = parts_.back().end;
    }
    return true;
  }

  // Filled with zeros.
  bool is_zero(Value v) const {
    const auto formula = constants_.of(v).empty() ? std::nullopt : site_.formula(v.node);
    const ExprNode* e = formula ? &*formula->output(0).value : nullptr;
    if (e && e->kind == ExprNode::Kind::Read && e->tensor.kind == TensorRef::Kind::Input)
      return is_all(site_.graph, site_.node(v.node).inputs[static_cast<std::size_t>(e->tensor.number)], 0);
    return e && e->kind == ExprNode::Kind::Number && e->number == 0;
  }

  // Along which it is worth to look at one position.
  AxisSet axes_of(Value v) const {
    AxisSet out = constants_.of(v);
    if (out.empty()) return out;
    out[1] = false;
    for (std::size_t d = 2; d < out.size(); ++d) {
      if (!out[d]) continue;
      const Classes classes = classes_along(site_, c_, d - 2);
      const auto positions = static_cast<std::int64_t>(classes.of.size());
      out[d] = classes.is_open ? classes.count() > 1 : positions == 0 || 2 * classes.count() <= positions;
    }
    if (is_empty(out)) out.clear();
    return out;
  }

  Value weights_of(const std::vector<Part>& parts) {
    const Value all = b_.input(site_.name(c_.weights));
    std::vector<Value> slices;
    slices.reserve(parts.size());
    for (const Part& p : parts) slices.push_back(b_.slice(all, 1, p.begin, p.end));
    return b_.concat(slices, 1);
  }

  Value convolve(const std::vector<Part>& parts) {
    std::vector<Value> values;
    values.reserve(parts.size());
    for (const Part& p : parts) values.push_back(b_.input(site_.name(p.value)));
    std::vector<Value> inputs{b_.concat(values, 1), weights_of(parts)};
    if (c_.bias.exists()) inputs.push_back(b_.input(site_.name(c_.bias)));
    return b_.op("Conv", inputs, attributes_of(c_));
  }

  Value bias() {
    std::vector<std::int64_t> shape(rank(), 1);
    shape[1] = c_.channels;
    return b_.reshape(b_.input(site_.name(c_.bias)), shape);
  }

  // The convolution of parts that are constant along these axes.
  std::optional<Value> once(const AxisSet& axes, const std::vector<Part>& parts) {
    std::vector<Value> values;
    for (const Part& p : parts) {
      const auto value = once_.of(p.value, axes);
      if (!value) return std::nullopt;
      values.push_back(*value);
    }
    Convolution small = c_;
    Value weights = weights_of(parts);
    std::vector<Classes> classes(rank());
    for (std::size_t d = 2; d < axes.size(); ++d) {
      if (!axes[d]) continue;
      classes[d] = classes_along(site_, c_, d - 2);
      weights = summed(weights, d, classes[d]);
      small.kernel[d - 2] = small.strides[d - 2] = small.dilations[d - 2] = 1;
      small.pads[d - 2] = small.pads[small.kernel.size() + d - 2] = 0;
    }
    const Dims before = once_.shape(parts[0].value, axes);
    return spread(b_.concat(values, 1), weights, small, classes, before[0]);
  }

  // With the kernel's positions along an axis summed, once per class.
  Value summed(Value weights, std::size_t axis, const Classes& classes) {
    std::vector<Value> sums;
    for (const auto& [from, to] : classes.seen) {
      const bool is_all = from == 0 && to == c_.kernel[axis - 2];
      const Value some = is_all ? weights : b_.slice(weights, static_cast<std::int64_t>(axis), from, to);
      sums.push_back(b_.unsqueeze(b_.reduce("ReduceSum", some, static_cast<std::int64_t>(axis)),
                                  {static_cast<std::int64_t>(axis)}));
    }
    return b_.concat(sums, static_cast<std::int64_t>(axis));
  }

  // One output channel per channel and class; then each class at its positions.
  std::optional<Value> spread(Value x, Value weights, Convolution small, const std::vector<Classes>& classes,
                              const Dim& batch) {
    std::vector<std::int64_t> order{0}, kernel{0, c_.w[1]}, classed, rest;
    std::int64_t copies = 1;
    for (std::size_t d = 2; d < rank(); ++d) {
      const bool is_classed = classes[d].count() > 1;
      (is_classed ? classed : rest).push_back(static_cast<std::int64_t>(d));
      if (is_classed) copies *= classes[d].count();
      kernel.push_back(small.kernel[d - 2]);
    }
    if (copies == 1) return b_.op("Conv", {x, weights}, attributes_of(small));
    order = joined(joined(order, classed), joined({1}, rest));
    kernel[0] = c_.channels * copies;
    kernel[1] = -1;
    const Value wide =
        b_.op("Conv", {x, b_.reshape(b_.transpose(weights, order), kernel)}, attributes_of(small));
    // [n, o · classes, ...] as [n, o, classes, rest], then in place.
    const Dims& full = *site_.inference.of({c_.id, 0}).shape;
    std::vector<std::int64_t> shape{batch.is(1) ? 1 : 0, c_.channels};
    for (const std::int64_t d : classed) shape.push_back(classes[static_cast<std::size_t>(d)].count());
    for (const std::int64_t d : rest) {
      const bool is_one = classes[static_cast<std::size_t>(d)].count() == 1;
      const auto extent = full[static_cast<std::size_t>(d)].value();
      if (!is_one && !extent) return std::nullopt;
      shape.push_back(is_one ? 1 : *extent);
    }
    const std::vector<std::int64_t> now = joined(joined({0, 1}, classed), rest);
    Value out = b_.transpose(b_.reshape(wide, shape), inverse_order(now));
    for (const std::int64_t d : classed) {
      const Classes& along = classes[static_cast<std::size_t>(d)];
      const auto placed = along.is_open ? where_seen(out, d) : at_positions(out, d, along);
      if (!placed) return std::nullopt;
      out = *placed;
    }
    return out;
  }

  // The extent of the input along an axis, as a value: as an input of the graph, or a part, has it.
  std::optional<Value> extent_along(std::size_t axis) {
    const Dim& extent = (*site_.inference.of(c_.x).shape)[axis];
    if (const auto known = once_.extent(extent)) return known;
    for (const Part& p : parts_) {
      const AxisSet& axes = constants_.of(p.value);
      if (site_.is_constant(p.value) || (axis < axes.size() && axes[axis])) continue;
      const auto at = static_cast<std::int64_t>(axis);
      return b_.slice(b_.op("Shape", {b_.input(site_.name(p.value))}), 0, at, at + 1);
    }
    return std::nullopt;
  }

  // The sum over the kernel's positions along an axis that an output sees: a product with what the kernel's
  // impulses make of ones.
  std::optional<Value> where_seen(Value x, std::int64_t axis) {
    const auto extent = extent_along(static_cast<std::size_t>(axis));
    if (!extent) return std::nullopt;
    const auto k = static_cast<std::size_t>(axis) - 2, spatial = c_.kernel.size();
    const Value ones = b_.op("ConstantOfShape", {b_.concat({b_.integers({1, 1}), *extent}, 0)},
                             with({{"value", Tensor::of(ElementType::Float, {1}, std::vector<float>{1})}}));
    const Value impulses = b_.reshape(b_.eye(c_.kernel[k]), {c_.kernel[k], 1, c_.kernel[k]});
    const Value seen = b_.op("Conv", {ones, impulses},
                             with({{"kernel_shape", Extents{c_.kernel[k]}},
                                   {"strides", Extents{c_.strides[k]}},
                                   {"dilations", Extents{c_.dilations[k]}},
                                   {"pads", Extents{c_.pads[k], c_.pads[spatial + k]}}}));
    const Value matrix = b_.squeeze(seen, {0});
    std::vector<std::int64_t> last(rank());  // the axis at the end, and back
    std::iota(last.begin(), last.end(), 0);
    std::swap(last[static_cast<std::size_t>(axis)], last.back());
    return b_.transpose(b_.op("MatMul", {b_.transpose(x, last), matrix}), last);
  }

  // Each class at its positions: those that follow each other as they are, one that is repeated expanded.
  std::optional<Value> at_positions(Value x, std::int64_t axis, const Classes& classes) {
    const auto count = static_cast<std::int64_t>(classes.of.size());
    const auto at = [&](std::int64_t p) { return classes.of[static_cast<std::size_t>(p)]; };
    std::vector<Value> runs;
    for (std::int64_t p = 0; p < count;) {
      std::int64_t same = p + 1, next = p + 1;
      while (same < count && at(same) == at(p)) ++same;
      if (same - p > 1) {
        // Cut from the whole axis, so that every number is of the border or of the image: the field witness
        // looks at smaller images. A later round expands no more than is left.
        std::vector<std::int64_t> shape(rank(), 1);
        shape[static_cast<std::size_t>(axis)] = count;
        const Value all = b_.op("Expand", {b_.slice(x, axis, at(p), at(p) + 1), b_.integers(shape)});
        runs.push_back(b_.slice(all, axis, p, same == count ? count : same - count));
        p = same;
        continue;
      }
      while (next < count && at(next) == at(next - 1) + 1 && (next + 1 == count || at(next + 1) != at(next)))
        ++next;
      runs.push_back(b_.slice(x, axis, at(p), at(next - 1) + 1));
      p = next;
    }
    return b_.concat(runs, axis);
  }

  // Whether along every axis some part is not constant, or the convolution is looked up.
  bool is_whole(const std::map<AxisSet, std::vector<Part>>& repeated) const {
    const Dims& full = *site_.inference.of({c_.id, 0}).shape;
    for (std::size_t d = 0; d < rank(); ++d) {
      if (d == 1 || full[d].is(1)) continue;
      const bool is_there = std::ranges::any_of(repeated, [&](const auto& group) {
        if (group.first.empty() || !group.first[d]) return true;
        if (d < 2) return false;
        const Classes classes = classes_along(site_, c_, d - 2);
        return classes.is_open || !classes.of.empty();
      });
      if (!is_there) return false;
    }
    return true;
  }

  const Site& site_;
  const ConstantAxes& constants_;
  Convolution c_;
  ProgramBuilder b_;
  OnceWriter once_;
  std::vector<Part> parts_;
};

}  // namespace

void propose_repeated_windows(const Site& site, const ConstantAxes& constants, Proposals& out) {
  for (const NodeId id : site.graph.order())
    if (auto c = convolution_at(site, id)) out.add(Windows(site, constants, std::move(*c)).proposal());
}

}  // namespace isomer
