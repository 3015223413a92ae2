// Samples of operators that read or write at places which are values.
#include <algorithm>

#include "contract/samples/samples.h"

namespace isomer::contract::samples {
namespace {

void sample_scatter_elements(Sampler& s) {
  const Extents shape = s.shape(1, 3);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = s.between(0, rank - 1), extent = shape[static_cast<std::size_t>(axis)];
  const bool reduces = s.opset() >= 16 && s.chance(0.6);
  const ElementType type = reduces ? s.pick({ElementType::Float, ElementType::Int64}) : s.pick(kMovable);
  Extents index_shape = shape;
  for (std::int64_t& e : index_shape) e = s.between(1, e);
  // Without a reduction the indices of one line are different from each other.
  std::vector<std::int64_t> indices(static_cast<std::size_t>(*element_count(index_shape)));
  const auto order = s.permutation(static_cast<int>(extent));
  std::int64_t unit = 1;
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i) unit *= index_shape[i];
  const std::int64_t length = index_shape[static_cast<std::size_t>(axis)];
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const std::int64_t place = static_cast<std::int64_t>(k) / unit % length;
    indices[k] = reduces ? s.between(0, extent - 1) : order[static_cast<std::size_t>(place)];
    if (s.opset() >= 11 && s.chance(0.3)) indices[k] -= extent;
  }
  s.input(type, shape);
  s.constant(Tensor::of(ElementType::Int64, index_shape, indices));
  s.inputs.back().constant = s.chance(0.5);
  s.input(type, index_shape);
  if (axis != 0 || s.chance(0.3)) s.attribute("axis", axis);
  if (reduces)
    s.attribute("reduction", s.opset() >= 18 ? s.pick<std::string>({"add", "mul", "max", "min"})
                                             : s.pick<std::string>({"add", "mul"}));
}

// Tuples that are different from each other: positions of the data's first `depth` axes in a random order.
std::vector<std::int64_t> different_tuples(Sampler& s, const Extents& head, std::int64_t count) {
  const auto order = s.permutation(static_cast<int>(*element_count(head)));
  std::vector<std::int64_t> out;
  for (std::int64_t n = 0; n < count; ++n) {
    std::vector<std::int64_t> tuple(head.size());
    std::int64_t rest = order[static_cast<std::size_t>(n)];
    for (std::size_t i = head.size(); i-- > 0; rest /= head[i]) tuple[i] = rest % head[i];
    out.insert(out.end(), tuple.begin(), tuple.end());
  }
  return out;
}

}  // namespace

void Compress(Sampler& s) {
  const Extents shape = s.shape(1, 3);
  const auto rank = static_cast<std::int64_t>(shape.size());
  s.input(s.pick(kMovable), shape);
  const bool flat = s.chance(0.4);
  const std::int64_t axis = s.between(0, rank - 1);
  const std::int64_t length = flat ? *element_count(shape) : shape[static_cast<std::size_t>(axis)];
  std::vector<std::uint8_t> condition(static_cast<std::size_t>(s.between(1, length)));
  for (auto& bit : condition) bit = s.chance(0.5) ? 1 : 0;
  s.constant(Tensor::of(ElementType::Bool, {static_cast<std::int64_t>(condition.size())}, condition));
  if (!flat) s.attribute("axis", s.opset() >= 11 && s.chance(0.3) ? axis - rank : axis);
}

void Gather(Sampler& s) {
  const Extents shape = s.shape(1, 4);
  s.input(s.pick(kMovable), shape);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = s.between(0, rank - 1), extent = shape[static_cast<std::size_t>(axis)];
  const Extents index_shape = s.shape(0, 2, 5);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(*element_count(index_shape)));
  const bool in_steps = s.chance(0.4);
  for (std::size_t k = 0; k < indices.size(); ++k)
    indices[k] = in_steps ? static_cast<std::int64_t>(k) % extent
                          : s.between(s.opset() < 11 ? 0 : -extent, extent - 1);
  if (s.chance(0.3)) {
    const std::vector<std::int32_t> narrow(indices.begin(), indices.end());
    s.constant(Tensor::of(ElementType::Int32, index_shape, narrow));
  } else {
    s.constant(Tensor::of(ElementType::Int64, index_shape, indices));
  }
  s.inputs.back().constant = s.chance(0.5);
  if (axis != 0 || s.chance(0.3)) s.attribute("axis", s.opset() >= 11 && s.chance(0.3) ? axis - rank : axis);
}

void GatherElements(Sampler& s) {
  const Extents shape = s.shape(1, 4);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = s.between(0, rank - 1), extent = shape[static_cast<std::size_t>(axis)];
  s.input(s.pick(kMovable), shape);
  Extents index_shape = shape;
  for (std::int64_t& e : index_shape) e = s.between(1, e);
  index_shape[static_cast<std::size_t>(axis)] = s.between(1, 6);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(*element_count(index_shape)));
  for (std::int64_t& i : indices) i = s.between(-extent, extent - 1);
  s.constant(Tensor::of(ElementType::Int64, index_shape, indices));
  s.inputs.back().constant = s.chance(0.5);
  if (axis != 0 || s.chance(0.3)) s.attribute("axis", s.chance(0.3) ? axis - rank : axis);
}

void GatherND(Sampler& s) {
  const Extents shape = s.shape(1, 4);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t batch = s.opset() >= 12 ? s.between(0, std::min<std::int64_t>(rank - 1, 2)) : 0;
  const std::int64_t depth = s.between(1, rank - batch);
  s.input(s.pick(kMovable), shape);
  Extents index_shape(shape.begin(), shape.begin() + batch);
  for (std::int64_t i = s.between(batch > 0 ? 0 : 1, 2); i > 0; --i) index_shape.push_back(s.between(1, 4));
  index_shape.push_back(depth);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(*element_count(index_shape)));
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const std::int64_t extent = shape[static_cast<std::size_t>(batch) + k % static_cast<std::size_t>(depth)];
    indices[k] = s.between(s.opset() < 12 ? 0 : -extent, extent - 1);
  }
  s.constant(Tensor::of(ElementType::Int64, index_shape, indices));
  s.inputs.back().constant = s.chance(0.5);
  if (batch > 0) s.attribute("batch_dims", batch);
}

void ReverseSequence(Sampler& s) {
  const Extents shape = s.shape(2, 4);
  const std::int64_t time = s.between(0, 1);
  s.input(s.pick({ElementType::Float, ElementType::Int64}), shape);
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(shape[static_cast<std::size_t>(1 - time)]));
  for (std::int64_t& length : lengths) length = s.between(1, shape[static_cast<std::size_t>(time)]);
  s.integers(lengths);
  s.inputs.back().constant = s.chance(0.5);
  if (time != 0 || s.chance(0.3)) {
    s.attribute("time_axis", time);
    s.attribute("batch_axis", 1 - time);
  }
}

void Scatter(Sampler& s) { sample_scatter_elements(s); }
void ScatterElements(Sampler& s) { sample_scatter_elements(s); }

void ScatterND(Sampler& s) {
  const Extents shape = s.shape(1, 3);
  const std::int64_t depth = s.between(1, static_cast<std::int64_t>(shape.size()));
  const Extents head(shape.begin(), shape.begin() + depth);
  const std::int64_t count = s.between(1, *element_count(head));
  const bool reduces = s.opset() >= 16 && s.chance(0.5);
  const ElementType type = reduces ? s.pick({ElementType::Float, ElementType::Int64}) : s.pick(kMovable);
  s.input(type, shape);
  // A box that begins at zero, or any tuples.
  Extents index_shape{count};
  std::vector<std::int64_t> indices = different_tuples(s, head, count);
  if (s.chance(0.4)) {
    index_shape = head;
    for (std::int64_t& e : index_shape) e = s.between(1, e);
    indices.clear();
    for (std::int64_t n = 0; n < *element_count(index_shape); ++n) {
      std::vector<std::int64_t> tuple(head.size());
      std::int64_t rest = n;
      for (std::size_t i = head.size(); i-- > 0; rest /= index_shape[i])
        tuple[i] = head[i] - 1 - (index_shape[i] - 1) + rest % index_shape[i];
      indices.insert(indices.end(), tuple.begin(), tuple.end());
    }
  }
  Extents updates = index_shape;
  updates.insert(updates.end(), shape.begin() + depth, shape.end());
  index_shape.push_back(depth);
  s.constant(Tensor::of(ElementType::Int64, index_shape, indices));
  s.inputs.back().constant = s.chance(0.5);
  s.input(type, updates);
  if (reduces)
    s.attribute("reduction", s.opset() >= 18 ? s.pick<std::string>({"add", "mul", "max", "min"})
                                             : s.pick<std::string>({"add", "mul"}));
}

}  // namespace isomer::contract::samples
