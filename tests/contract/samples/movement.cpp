// Samples of operators that only move, repeat or make up elements, at places that their attributes and small
// integers say.
#include <algorithm>
#include <limits>

#include "contract/samples/samples.h"

namespace isomer::contract::samples {
namespace {

template <class T>
void sample_limits(Sampler& s, ElementType type, T unit) {
  const std::int64_t start = s.between(-5, 5), delta = s.pick({1, 2, 3, -1, -2});
  const std::int64_t limit = start + delta * s.between(0, 6) + s.between(-1, 1);
  for (const std::int64_t value : {start, limit, delta})
    s.constant(Tensor::of<T>(type, {}, {static_cast<T>(static_cast<T>(value) * unit)}));
}

}  // namespace

void CenterCropPad(Sampler& s) {
  const Extents shape = s.shape(1, 4);
  const auto rank = static_cast<std::int64_t>(shape.size());
  s.input(s.pick({ElementType::Float, ElementType::Int64}), shape);
  std::vector<std::int64_t> targets, axes;
  const bool some = s.chance(0.5);
  for (std::int64_t i = 0; i < rank; ++i) {
    if (some && s.chance(0.4)) continue;
    axes.push_back(s.chance(0.3) ? i - rank : i);
    targets.push_back(s.between(1, 7));
  }
  if (targets.empty()) targets = {3}, axes = {0};
  s.integers(targets);
  if (some || static_cast<std::int64_t>(axes.size()) != rank) s.attribute("axes", axes);
}

void Concat(Sampler& s) {
  const ElementType type = s.pick(kMovable);
  const Extents shape = s.shape(1, 4);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = s.between(0, rank - 1), count = s.between(1, 4);
  for (std::int64_t k = 0; k < count; ++k) {
    Extents part = shape;
    part[static_cast<std::size_t>(axis)] = s.between(s.chance(0.1) ? 0 : 1, 3);
    s.input(type, part);
  }
  s.attribute("axis", s.opset() >= 11 && s.chance(0.3) ? axis - rank : axis);
}

void Constant(Sampler& s) {
  const Extents shape = s.shape(0, 3, 3);
  s.input(s.pick(kMovable), shape);
  const Tensor value = s.inputs[0].value;
  s.inputs.clear();
  if (s.opset() < 12 || s.chance(0.5)) return s.attribute("value", value);
  switch (s.between(0, 3)) {
    case 0: return s.attribute("value_float", 0.5f);
    case 1: return s.attribute("value_int", std::int64_t{-3});
    case 2: return s.attribute("value_floats", std::vector<float>{1.5f, -2.0f, 0.25f});
    default: return s.attribute("value_ints", std::vector<std::int64_t>{4, 0, -7, 1});
  }
}

void ConstantOfShape(Sampler& s) {
  Extents shape = s.shape(0, 4);
  if (!shape.empty() && s.chance(0.1)) shape[0] = 0;
  s.integers(shape);
  if (s.chance(0.3)) return;
  s.input(s.pick({ElementType::Float, ElementType::Double, ElementType::Int64, ElementType::Int32,
                  ElementType::Uint8, ElementType::Bool}),
          {1});
  s.attribute("value", s.inputs.back().value);
  s.inputs.pop_back();
}

void DepthToSpace(Sampler& s) {
  using enum ElementType;
  const std::int64_t b = s.between(1, 3);
  s.input(s.opset() < 11 ? s.pick({Float, Double}) : s.pick({Float, Double, Int8, Uint8}),
          {s.between(1, 2), b * b * s.between(1, 3), s.between(1, 3), s.between(1, 3)});
  s.attribute("blocksize", b);
  if (s.opset() >= 11 && s.chance(0.7)) s.attribute("mode", std::string(s.chance(0.6) ? "CRD" : "DCR"));
}

void Expand(Sampler& s) {
  const Extents shape = s.shape(0, 4), other = s.broadcastable(shape);
  const bool swap = s.chance(0.3);
  s.input(s.pick(kMovable), swap ? shape : other);
  s.integers(swap ? other : shape);
}

void EyeLike(Sampler& s) {
  using enum ElementType;
  s.input(s.pick({Float, Double, Int32, Int64, Uint64}), {s.between(1, 5), s.between(1, 5)});
  if (s.chance(0.5)) s.attribute("k", s.between(-5, 5));
  if (s.chance(0.5))
    s.attribute("dtype", static_cast<std::int64_t>(s.pick({Float, Double, Int32, Int64, Uint64})));
}

void Flatten(Sampler& s) {
  sample_unary(s, s.opset() < 9 ? kFloats : kMovable);
  const std::int64_t rank = s.inputs[0].value.rank();
  if (rank == 0 || s.chance(0.8)) s.attribute("axis", s.between(s.opset() < 11 ? 0 : -rank, rank));
}

void OneHot(Sampler& s) {
  using enum ElementType;
  // The runtime has these combinations of (indices, values, depth).
  const bool floats = s.chance(0.3);
  const Extents shape = s.shape(1, 3);
  s.input(floats ? Float : Int64, shape, Sampler::Values::Small);
  const std::int64_t depth = s.between(1, 6);
  if (floats) s.constant(Tensor::of<float>(Float, {1}, {static_cast<float>(depth)}));
  else s.constant(Tensor::of<std::int64_t>(Int64, {}, {depth}));
  s.input(floats ? Float : s.pick({Float, Int64}), {2});
  if (s.chance(0.6))
    s.attribute("axis", s.between(-static_cast<std::int64_t>(shape.size()) - 1,
                                  static_cast<std::int64_t>(shape.size())));
}

void Pad(Sampler& s) {
  using enum ElementType;
  const ElementType type = s.opset() < 11   ? s.pick({Float, Double})
                           : s.opset() < 13 ? s.pick({Float, Double, Int32, Int64, Int8, Uint8})
                                            : s.pick({Float, Double, Int32, Int64, Int8, Uint8, Bool});
  const Extents shape = s.shape(1, 4, 6);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::string mode =
      s.opset() >= 19 && s.chance(0.2) ? "wrap" : s.pick({"constant", "constant", "reflect", "edge"});
  std::vector<std::int64_t> axes = s.permutation(static_cast<int>(rank));
  const bool named = s.opset() >= 18 && s.chance(0.4);
  if (named) axes.resize(static_cast<std::size_t>(s.between(1, rank)));
  else std::ranges::sort(axes);
  std::vector<std::int64_t> pads(2 * axes.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t extent = shape[static_cast<std::size_t>(axes[i])];
    const std::int64_t cut = extent > 2 && s.chance(0.2) ? 1 : 0;  // on one side only
    const std::int64_t most = mode == "constant" || mode == "edge"
                                  ? 3
                                  : std::min<std::int64_t>(3, extent - cut - (mode == "reflect" ? 1 : 0));
    const bool begins = s.chance(0.5);
    pads[i] = cut == 1 && begins ? -1 : s.between(0, most);
    pads[axes.size() + i] = cut == 1 && !begins ? -1 : s.between(0, most);
    if (named && s.chance(0.3)) axes[i] -= rank;
  }
  s.input(type, shape);
  if (mode != "constant" || s.chance(0.5)) s.attribute("mode", mode);
  if (s.opset() < 11) {
    s.attribute("pads", pads);
    if (s.chance(0.5)) s.attribute("value", s.pick({0.5f, -1.0f}));
    return;
  }
  s.integers(pads);
  if (mode == "constant" && s.chance(0.6)) {
    s.input(type, {});
    s.inputs.back().constant = s.chance(0.5);
  } else if (named) {
    s.absent();
  }
  if (named) s.integers(axes);
}

void Range(Sampler& s) {
  using enum ElementType;
  switch (s.between(0, 4)) {
    case 0: return sample_limits<float>(s, Float, 0.25f);
    case 1: return sample_limits<double>(s, Double, 0.5);
    case 2: return sample_limits<std::int16_t>(s, Int16, 1);
    case 3: return sample_limits<std::int32_t>(s, Int32, 1);
    default: return sample_limits<std::int64_t>(s, Int64, 1);
  }
}

void Reshape(Sampler& s) {
  // Small factors, multiplied together in two ways.
  Extents from, to;
  const std::int64_t factors = s.between(0, 5);
  for (std::int64_t i = 0; i < factors; ++i) {
    const std::int64_t factor = s.pick({1, 2, 3, 2});
    for (Extents* side : {&from, &to}) {
      if (side->empty() || s.chance(0.5)) side->push_back(factor);
      else side->back() *= factor;
    }
  }
  const bool empty = s.chance(0.05) && !to.empty();
  if (empty) from.back() = to.back() = 0;
  s.input(s.pick(kMovable), from);
  const bool allowzero = s.opset() >= 14 && (empty || s.chance(0.2));
  if (allowzero) s.attribute("allowzero", std::int64_t{1});
  if (empty && !allowzero) to = from;  // an extent of 0 is then the copy of one
  std::vector<std::int64_t> shape = to;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (!allowzero && i < from.size() && from[i] == to[i] && s.chance(0.3)) shape[i] = 0;
  if (!shape.empty() && !empty && s.chance(0.5))
    shape[static_cast<std::size_t>(s.between(0, static_cast<std::int64_t>(shape.size()) - 1))] = -1;
  s.integers(shape);
}

void Shape(Sampler& s) {
  sample_unary(s, kMovable);
  if (s.opset() < 15) return;
  if (s.chance(0.5)) s.attribute("start", s.between(-5, 4));
  if (s.chance(0.5)) s.attribute("end", s.between(-5, 5));
}

void Size(Sampler& s) { sample_unary(s, kMovable); }

void Slice(Sampler& s) {
  const Extents shape = s.shape(1, 4, 6);
  s.input(s.pick(kMovable), shape);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const bool all = s.chance(0.4), steps_given = s.opset() >= 10 && s.chance(0.6);
  std::vector<std::int64_t> axes = s.permutation(static_cast<int>(rank)), starts, ends, steps;
  if (all) std::ranges::sort(axes);
  axes.resize(static_cast<std::size_t>(s.between(1, rank)));
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                         kLeast = std::numeric_limits<std::int64_t>::min();
  for (std::int64_t& axis : axes) {
    steps.push_back(steps_given ? s.pick({1, 1, 2, 3, -1, -2, 100}) : 1);
    starts.push_back(s.between(-8, 8));
    ends.push_back(s.between(-8, 8));
    if (s.chance(0.3))
      ends.back() = steps.back() > 0 ? s.pick({kMost, std::int64_t{0x7fffffff}}) : kLeast + 1;
    if (s.opset() >= 11 && !all && s.chance(0.3)) axis -= rank;
  }
  if (s.opset() < 10) {
    s.attribute("starts", starts);
    s.attribute("ends", ends);
    if (!all) s.attribute("axes", axes);
    return;
  }
  s.integers(starts);
  s.integers(ends);
  if (!all) s.integers(axes);
  else if (steps_given) s.absent();
  if (steps_given) s.integers(steps);
}

void SpaceToDepth(Sampler& s) {
  using enum ElementType;
  const std::int64_t b = s.between(1, 3);
  s.input(s.pick({Float, Double, Int8, Uint8}),
          {s.between(1, 2), s.between(1, 3), b * s.between(1, 3), b * s.between(1, 3)});
  s.attribute("blocksize", b);
}

void Split(Sampler& s) {
  Extents shape = s.shape(1, 4);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = s.between(0, rank - 1), count = s.between(1, 4);
  const bool given = s.chance(0.5), uneven = s.opset() >= 18 && s.chance(0.5);
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(count), s.between(1, 3));
  if (given)
    for (std::int64_t& length : lengths) length = s.between(0, 3);
  else if (uneven && lengths.back() > 1) --lengths.back();
  std::int64_t total = 0;
  for (const std::int64_t length : lengths) total += length;
  shape[static_cast<std::size_t>(axis)] = total;
  s.input(s.pick(kMovable), shape);
  if (given) {
    if (s.opset() < 13) s.attribute("split", lengths);
    else s.integers(lengths);
  } else if (s.opset() >= 18) {
    s.attribute("num_outputs", count);
  }
  if (axis != 0 || s.chance(0.5)) s.attribute("axis", s.opset() >= 11 && s.chance(0.3) ? axis - rank : axis);
  s.outputs(static_cast<int>(count));
}

void Squeeze(Sampler& s) {
  Extents shape = s.shape(0, 4);
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!s.chance(0.5)) continue;
    shape[i] = 1;
    const bool negative = s.opset() >= 11 && s.chance(0.3);
    axes.push_back(static_cast<std::int64_t>(i) - (negative ? static_cast<std::int64_t>(shape.size()) : 0));
  }
  s.input(s.pick(kMovable), shape);
  if (axes.empty() || s.chance(0.2)) return;
  if (s.opset() < 13) s.attribute("axes", axes);
  else s.integers(axes);
}

void Tile(Sampler& s) {
  const Extents shape = s.shape(1, 4, 4);
  s.input(s.pick(kMovable), shape);
  std::vector<std::int64_t> repeats;
  for (std::size_t i = 0; i < shape.size(); ++i) repeats.push_back(s.between(s.chance(0.05) ? 0 : 1, 3));
  s.integers(repeats);
}

void Transpose(Sampler& s) {
  sample_unary(s, kMovable);
  if (s.chance(0.8)) s.attribute("perm", s.permutation(s.inputs[0].value.rank()));
}

void Trilu(Sampler& s) {
  Extents shape = s.shape(2, 4);
  if (s.chance(0.05)) shape[0] = 0;
  s.input(s.pick({ElementType::Float, ElementType::Double, ElementType::Int32, ElementType::Int64,
                  ElementType::Bool}),
          shape);
  if (s.chance(0.6)) s.constant(Tensor::of(ElementType::Int64, {}, std::vector{s.between(-4, 4)}));
  if (s.chance(0.6)) s.attribute("upper", s.between(0, 1));
}

void Unsqueeze(Sampler& s) {
  const Extents shape = s.shape(0, 3);
  s.input(s.pick(kMovable), shape);
  const std::int64_t count = s.between(1, 2), rank = static_cast<std::int64_t>(shape.size()) + count;
  std::vector<std::int64_t> axes = s.permutation(static_cast<int>(rank));
  axes.resize(static_cast<std::size_t>(count));
  if (s.opset() < 11) std::ranges::sort(axes);  // before 11, negative ones aren't legal
  else
    for (std::int64_t& a : axes) a -= s.chance(0.3) ? rank : 0;
  if (s.opset() < 13) s.attribute("axes", axes);
  else s.integers(axes);
}

}  // namespace isomer::contract::samples
