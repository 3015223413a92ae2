#include "optimizer/propose/positions/once_writer.h"

#include <algorithm>

namespace isomer {
namespace {

constexpr std::size_t kMostNodes = 128;  // that are written: what is before them is read

// Elements of one input at other positions, some of them several times.
bool repeats(const Site& site, NodeId id) {
  return site.is(id, "Expand") || site.is(id, "Tile") || site.is(id, "Resize") || site.is(id, "Upsample");
}
bool is_view(const Site& site, NodeId id) {
  return site.is(id, "Reshape") || site.is(id, "Flatten") || site.is(id, "Squeeze") ||
         site.is(id, "Unsqueeze") || site.is(id, "Identity");
}

}  // namespace

AxisSet in_both(const AxisSet& a, const AxisSet& b) {
  AxisSet out(std::max(a.size(), b.size()), false);
  for (std::size_t d = 0; d < std::min(a.size(), b.size()); ++d) out[d] = a[d] && b[d];
  return out;
}

Dims OnceWriter::shape(Value v, const AxisSet& axes) const {
  Dims out = *site_.inference.of(v).shape;
  for (std::size_t d = 0; d < out.size() && d < axes.size(); ++d)
    if (axes[d]) out[d] = 1;
  return out;
}

std::optional<Value> OnceWriter::of(Value v, const AxisSet& axes) {
  if (is_empty(axes)) return b_.input(site_.name(v));
  const auto at = known_.find({v, axes});
  if (at != known_.end()) return at->second;
  std::optional<Value> out = site_.is_constant(v) ? first(v, axes) : made(v, axes);
  // For an unsupported node one position is read, if there is certain to be one.
  if (!out && site_.concrete_sizes(v)) out = first(v, axes);
  known_.emplace(std::pair(v, axes), out);
  return out;
}

Value OnceWriter::first(Value v, const AxisSet& axes) {
  std::vector<std::int64_t> along;
  for (std::size_t d = 0; d < axes.size(); ++d)
    if (axes[d]) along.push_back(static_cast<std::int64_t>(d));
  const std::vector<std::int64_t> begin(along.size(), 0), end(along.size(), 1);
  return b_.op("Slice", {b_.input(site_.name(v)), b_.integers(begin), b_.integers(end), b_.integers(along)});
}

std::optional<Value> OnceWriter::as_value(const Dims& shape) {
  if (const auto sizes = concrete(shape)) return b_.integers(*sizes);
  std::vector<Value> parts;
  for (const Dim& d : shape) {
    const auto part = extent(d);
    if (!part) return std::nullopt;
    parts.push_back(*part);
  }
  return b_.concat(parts, 0);
}

std::optional<Value> OnceWriter::extent(const Dim& extent) {
  if (extent.is_concrete()) return b_.integers({extent.concrete()});
  for (const Value& x : site_.graph.inputs()) {
    const auto& shape = site_.inference.of(x).shape;
    if (!shape) continue;
    const auto at = std::ranges::find(*shape, extent);
    if (at == shape->end()) continue;
    const auto axis = at - shape->begin();
    return b_.slice(b_.op("Shape", {b_.input(site_.name(x))}), 0, axis, axis + 1);
  }
  return std::nullopt;
}

std::optional<Value> OnceWriter::moved(Value from, const Dims& shape, const Dims& to) {
  Dims longer = shape;
  if (longer.size() < to.size()) longer.insert(longer.begin(), to.size() - longer.size(), Dim(1));
  const auto value = b_.reshape(from, shape, longer);
  if (!value || longer == to) return value;
  for (std::size_t d = 0; d < to.size(); ++d)
    if (!longer[d].is(1) && longer[d] != to[d]) return std::nullopt;
  const auto sizes = as_value(to);
  return sizes ? std::optional(b_.op("Expand", {*value, *sizes})) : std::nullopt;
}

std::optional<Value> OnceWriter::made(Value v, const AxisSet& axes) {
  const NodeId id = v.node;
  const Node& node = site_.node(id);
  if (node.kind != NodeKind::Operator || !node.captures.empty() || nodes_.size() >= kMostNodes)
    return std::nullopt;
  const Dims to = shape(v, axes);
  nodes_.insert(id);
  if (site_.is(id, "ConstantOfShape")) {
    const auto sizes = as_value(to);
    return sizes ? std::optional(b_.copy(node, {*sizes})) : std::nullopt;
  }
  const Definition definition = define_node(site_.graph, site_.inference, id);
  const auto* formula = std::get_if<Formula>(&definition);
  if (formula == nullptr) return std::nullopt;
  const auto reads = read_along(*formula, static_cast<int>(v.output), axes);
  if (!reads) return std::nullopt;
  const auto input_axes = [&](std::size_t k) {
    return k < reads->size() ? in_both((*reads)[k], constants_.of(node.inputs[k])) : AxisSet{};
  };
  const auto only_first = [&] {
    const std::int64_t axis = attribute(node, "axis", std::int64_t{0});
    const std::size_t at =
        static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(to.size()) : axis);
    return site_.is(id, "Concat") && axes[at];
  };
  if (repeats(site_, id) || is_view(site_, id) || only_first()) {
    const AxisSet from = input_axes(0);
    const auto x = of(node.inputs[0], from);
    if (!x) return std::nullopt;
    const Dims own = shape(node.inputs[0], from);
    return is_view(site_, id) ? b_.reshape(*x, own, to) : moved(*x, own, to);
  }
  std::vector<Value> inputs;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    if (!node.inputs[k].exists()) {
      inputs.push_back(node.inputs[k]);
      continue;
    }
    const auto x = of(node.inputs[k], input_axes(k));
    if (!x) return std::nullopt;
    inputs.push_back(*x);
  }
  return Value{b_.copy(node, inputs).node, v.output};
}

}  // namespace isomer
