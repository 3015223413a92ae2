#include "model/graph/opaque_outputs.h"

#include <algorithm>
#include <array>

#include "model/graph/opaque_site.h"

namespace isomer {
namespace {

using Site = OpaqueSite;
using Outputs = OpaqueOutputs;

ValueInfo info(ElementType type, Dims shape) { return info_of(type, std::move(shape)); }

// A new extent on every axis, or on those that are not known to stay.
Outputs resized(const Site& o) {
  if (!o.has(0)) return {};
  Dims shape;
  for (std::size_t i = 0; i < o.rank(0); ++i) shape.push_back(o.fresh(i));
  return {info(o.in(0).type, std::move(shape))};
}

// Sliced along the axes that its input 3 names; along all of them if it is not known which.
Outputs slice(const Site& o) {
  if (!o.has(0)) return {};
  const auto& named = o.has(3) ? o.in(3).integers : std::nullopt;
  if (!named) return resized(o);
  Dims shape = o.shape(0);
  for (const Dim& dim : *named) {
    if (!dim.is_concrete()) return resized(o);
    const std::int64_t axis =
        dim.concrete() < 0 ? dim.concrete() + static_cast<std::int64_t>(shape.size()) : dim.concrete();
    if (axis < 0 || axis >= static_cast<std::int64_t>(shape.size())) return {};
    shape[static_cast<std::size_t>(axis)] = o.fresh(static_cast<std::size_t>(axis));
  }
  return {info(o.in(0).type, std::move(shape))};
}

constexpr std::int64_t kMostAxes = 64;  // as ops::define has it

// The rank is how long the list of extents in input k is; an extent that is known to be one is itself.
std::optional<Dims> listed_shape(const Site& o, std::size_t k, std::size_t least_rank = 0) {
  if (!o.has(k) || o.rank(k) != 1) return std::nullopt;
  const auto length = o.shape(k)[0].value();
  if (!length || *length > kMostAxes) return std::nullopt;
  Dims shape;
  const std::size_t count = static_cast<std::size_t>(*length);
  for (std::size_t i = 0; i < std::max(count, least_rank); ++i) shape.push_back(o.fresh(i));
  const auto& known = o.in(k).integers;
  if (known && least_rank == 0)
    for (std::size_t i = 0; i < count; ++i)
      if ((*known)[i].at_least(1) == true) shape[i] = (*known)[i];
  return shape;
}

Outputs reshape(const Site& o) {
  auto shape = o.has(0) ? listed_shape(o, 1) : std::nullopt;
  return shape ? Outputs{info(o.in(0).type, std::move(*shape))} : Outputs{};
}

Outputs expand(const Site& o) {
  auto shape = o.has(0) ? listed_shape(o, 1, std::max<std::size_t>(o.rank(0), 1)) : std::nullopt;
  return shape ? Outputs{info(o.in(0).type, std::move(*shape))} : Outputs{};
}

Outputs constant_of_shape(const Site& o) {
  auto shape = listed_shape(o, 0);
  if (!shape) return {};
  const auto* value = o.node.attributes.find_as<Tensor>("value");
  return {info(value ? value->type() : ElementType::Float, std::move(*shape))};
}

Outputs range(const Site& o) {
  if (!o.has(0)) return {};
  return {info(o.in(0).type, {o.fresh(0)})};
}

// The remaining elements along an axis, or of all elements in a row.
Outputs compress(const Site& o) {
  if (!o.has(0)) return {};
  const auto* axis = o.node.attributes.find_as<std::int64_t>("axis");
  if (!axis) return {info(o.in(0).type, {o.fresh(0)})};
  const auto rank = static_cast<std::int64_t>(o.rank(0));
  const std::int64_t at = *axis < 0 ? *axis + rank : *axis;
  if (at < 0 || at >= rank) return {};
  Dims shape = o.shape(0);
  shape[static_cast<std::size_t>(at)] = o.fresh(static_cast<std::size_t>(at));
  return {info(o.in(0).type, std::move(shape))};
}

Outputs like_first(const Site& o) {
  if (!o.has(0)) return {};
  const std::int64_t dtype = o.integer("dtype", static_cast<std::int64_t>(o.in(0).type));
  if (dtype < 1 || dtype > kLastOnnxType) return {};
  return {info(static_cast<ElementType>(dtype), o.shape(0))};
}

// Coordinates of the elements that aren't zero, one column each.
Outputs non_zero(const Site& o) {
  if (!o.has(0) || o.rank(0) == 0) return {};
  return {info(ElementType::Int64, {static_cast<std::int64_t>(o.rank(0)), o.fresh(1)})};
}

Outputs top_k(const Site& o) {
  if (!o.has(0)) return {};
  Dim k = o.integer("k", -1);
  if (o.graph.opset("") >= 10) {
    const auto& known = o.has(1) ? o.in(1).integers : std::nullopt;
    k = known && known->size() == 1 ? known->front() : o.fresh(0);
  }
  const auto rank = static_cast<std::int64_t>(o.rank(0));
  std::int64_t axis = o.integer("axis", -1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || k.at_least(0) != true) return {};
  Dims shape = o.shape(0);
  shape[static_cast<std::size_t>(axis)] = k;
  return {info(o.in(0).type, shape), info(ElementType::Int64, shape)};
}

// Triples (batch, class, box).
Outputs non_max_suppression(const Site& o) { return {info(ElementType::Int64, {o.fresh(0), 3})}; }

Outputs roi_align(const Site& o) {
  if (!o.has(0) || !o.has(1) || o.rank(0) != 4 || o.rank(1) != 2) return {};
  return {info(o.in(0).type,
               {o.shape(1)[0], o.shape(0)[1], o.integer("output_height", 1), o.integer("output_width", 1)})};
}

// X is [sequence, batch, input] (layout 1: batch first); R is [directions, gates * hidden, hidden].
Outputs recurrent(const Site& o) {
  if (!o.has(0) || !o.has(2) || o.rank(0) != 3 || o.rank(2) != 3) return {};
  const bool batch_first = o.integer("layout", 0) != 0;
  const Dim sequence = o.shape(0)[batch_first ? 1 : 0], batch = o.shape(0)[batch_first ? 0 : 1];
  const Dim directions = o.shape(2)[0], hidden = o.shape(2)[2];
  const Dims all =
      batch_first ? Dims{batch, sequence, directions, hidden} : Dims{sequence, directions, batch, hidden};
  const Dims last = batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  const ElementType type = o.in(0).type;
  return {info(type, all), info(type, last), info(type, last)};
}

// The elements in a row, or the slices along an axis, without repetitions; the position of each one's first
// occurrence, its new position, and its count.
Outputs unique(const Site& o) {
  Outputs out = compress(o);
  if (out.empty()) return {};
  const auto* axis = o.node.attributes.find_as<std::int64_t>("axis");
  std::size_t at = 0;
  if (axis != nullptr)
    at = static_cast<std::size_t>(*axis < 0 ? *axis + static_cast<std::int64_t>(o.rank(0)) : *axis);
  const Dim kept = (*out[0].shape)[at], all = axis ? o.shape(0)[at] : product(o.shape(0));
  for (const Dim& extent : {kept, all, kept}) out.push_back(info(ElementType::Int64, {extent}));
  return out;
}

Outputs random(const Site& o) {
  const auto* shape = o.node.attributes.find_as<std::vector<std::int64_t>>("shape");
  const std::int64_t dtype = o.integer("dtype", static_cast<std::int64_t>(ElementType::Float));
  if (shape == nullptr || dtype < 1 || dtype > kLastOnnxType) return {};
  if (std::ranges::any_of(*shape, [](std::int64_t extent) { return extent < 0; })) return {};
  return {info(static_cast<ElementType>(dtype), to_dims(*shape))};
}

// A tensor is followed by its scale and its zero point, which has its type.
Outputs quantize(const Site& o, std::string_view op) {
  auto shape = o.has(7) ? shape_as(o, op, {0, 3}) : std::nullopt;
  return shape ? Outputs{info(o.in(7).type, std::move(*shape))} : Outputs{};
}
Outputs quantized_conv(const Site& o) { return quantize(o, "Conv"); }
Outputs quantized_matmul(const Site& o) { return quantize(o, "MatMul"); }

using Line = OpaqueLine;
constexpr std::array kLines{Line{"Bernoulli", like_first},
                            Line{"Compress", compress},
                            Line{"ConstantOfShape", constant_of_shape},
                            Line{"CumSum", like_first},
                            Line{"Expand", expand},
                            Line{"GRU", recurrent},
                            Line{"LSTM", recurrent},
                            Line{"NonMaxSuppression", non_max_suppression},
                            Line{"NonZero", non_zero},
                            Line{"Pad", resized},
                            Line{"QLinearConv", quantized_conv},
                            Line{"QLinearMatMul", quantized_matmul},
                            Line{"RNN", recurrent},
                            Line{"RandomNormal", random},
                            Line{"RandomNormalLike", like_first},
                            Line{"RandomUniform", random},
                            Line{"RandomUniformLike", like_first},
                            Line{"Range", range},
                            Line{"Reshape", reshape},
                            Line{"Resize", resized},
                            Line{"ReverseSequence", like_first},
                            Line{"RoiAlign", roi_align},
                            Line{"Slice", slice},
                            Line{"Tile", resized},
                            Line{"TopK", top_k},
                            Line{"Unique", unique}};

}  // namespace

std::optional<Dims> shape_as(const Site& site, std::string_view op, const std::vector<std::size_t>& inputs) {
  Call call;
  call.opset = site.graph.opset("");
  call.attributes = site.node.attributes;
  for (const std::size_t k : inputs) {
    if (!site.has(k)) return std::nullopt;
    call.inputs.emplace_back(Call::Input{{ElementType::Float, site.shape(k)}});
  }
  const Definition definition = define(*find_operator("", op), call);
  const auto* formula = std::get_if<Formula>(&definition);
  return formula ? std::optional(formula->output_type(0).shape) : std::nullopt;
}

std::vector<ValueInfo> opaque_outputs(const Graph& graph, const Inference& inference, Symbols& symbols,
                                      const Node& node) {
  Outputs outputs;
  std::optional<Line> line;
  if (const auto at = std::ranges::find(kLines, node.op, &Line::op);
      node.domain.empty() && at != kLines.end())
    line = *at;
  if (node.domain == "com.microsoft") line = runtimes_line(node.op);
  if (!node.outputs.empty() && !graph.is_call(node) && line)
    outputs = line->outputs({graph, inference, symbols, node});
  outputs.resize(node.outputs.size());
  return outputs;
}

}  // namespace isomer
