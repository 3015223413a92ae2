#include "optimizer/facts/impulse_response.h"

namespace isomer {

std::int64_t Impulses::phases() const {
  std::int64_t out = 1;
  for (const std::int64_t s : stride) out *= s;
  return out;
}

Extents Impulses::place_of(std::int64_t phase) const {
  Extents out = place;
  for (std::size_t i = out.size(); i-- > 0;) {
    out[i] += phase % stride[i];
    phase /= stride[i];
  }
  return out;
}

namespace {

// One after the other they are easier to reason about than as digits of one number, as long as they are few.
constexpr std::int64_t kMostPieces = 4;

// All phases out of one unit matrix.
Value images_by_digits(ProgramBuilder& b, const Impulses& impulses) {
  const std::size_t d = impulses.spatial.size();
  const std::int64_t n = impulses.phases() * impulses.rows;
  std::vector<std::int64_t> order{0, static_cast<std::int64_t>(d + 1)};
  for (std::size_t i = 0; i < d; ++i) order.push_back(static_cast<std::int64_t>(i + 1));
  Value v = b.reshape(b.eye(n), joined(joined({n}, impulses.stride), {impulses.rows}));
  v = b.transpose(v, order);
  if (impulses.groups != 1) v = b.op("Tile", {v, b.integers(joined({1, impulses.groups}, Extents(d, 1)))});
  Extents end(d);
  for (std::size_t i = 0; i < d; ++i) end[i] = impulses.spatial[i] - impulses.stride[i] - impulses.place[i];
  return b.op("Pad", {v, b.integers(joined(joined({0, 0}, impulses.place), joined({0, 0}, end)))});
}

}  // namespace

Value impulse_images(ProgramBuilder& b, const Impulses& impulses) {
  if (impulses.phases() > kMostPieces) return images_by_digits(b, impulses);
  const std::size_t d = impulses.spatial.size();
  // [rows, channels]: ones where column mod rows = row.
  Value eyes = b.eye(impulses.rows);
  if (impulses.groups != 1) eyes = b.op("Tile", {eyes, b.integers({1, impulses.groups})});
  const Value flat =
      b.op("Reshape", {eyes, b.integers(joined({impulses.rows, impulses.channels()}, Extents(d, 1)))});
  std::vector<Value> images;
  for (std::int64_t n = 0; n < impulses.phases(); ++n) {
    const Extents begin = impulses.place_of(n);
    Extents end(d);
    for (std::size_t i = 0; i < d; ++i) end[i] = impulses.spatial[i] - 1 - begin[i];
    images.push_back(b.op("Pad", {flat, b.integers(joined(joined({0, 0}, begin), joined({0, 0}, end)))}));
  }
  return images.size() == 1 ? images[0] : b.op("Concat", images, with({{"axis", std::int64_t{0}}}));
}

Value middle_of(ProgramBuilder& b, Value answer, const Extents& extents) {
  for (std::size_t i = extents.size(); i-- > 2;)
    answer = b.op("Gather", {answer, b.integers({extents[i] / 2})},
                  with({{"axis", static_cast<std::int64_t>(i)}}));
  return answer;
}

std::optional<Value> kernel_from(ProgramBuilder& b, const Impulses& impulses, Value answer,
                                 const Extents& extents, const Extents& taps, const Extents& pad_begin,
                                 const Extents& dilation) {
  const std::size_t d = taps.size();
  const Extents& stride = impulses.stride;
  if (impulses.phases() > 1) {
    // [phases..., rows, outputs, sizes...] -> [rows, outputs, phase·size, ...]
    const auto split =
        joined(joined(stride, {impulses.rows, extents[1]}), {extents.begin() + 2, extents.end()});
    std::vector<std::int64_t> order{static_cast<std::int64_t>(d), static_cast<std::int64_t>(d + 1)},
        shape{impulses.rows, extents[1]};
    for (std::size_t i = 0; i < d; ++i) {
      order.push_back(static_cast<std::int64_t>(i));
      order.push_back(static_cast<std::int64_t>(d + 2 + i));
      shape.push_back(stride[i] * extents[i + 2]);
    }
    answer = b.op("Reshape", {answer, b.integers(split)});
    answer = b.op("Transpose", {answer}, with({{"perm", order}}));
    answer = b.op("Reshape", {answer, b.integers(shape)});
  }
  // Tap u of the window at p sees the impulse at place: stride·p - pad + dilation·u = place + phase.
  for (std::size_t i = 0; i < d; ++i) {
    std::vector<std::int64_t> places;
    for (std::int64_t u = 0; u < taps[i]; ++u) {
      const std::int64_t at = impulses.place[i] + pad_begin[i] - dilation[i] * u;
      const std::int64_t phase = floor_mod(-at, stride[i]), p = (at + phase) / stride[i];
      if (p < 0 || p >= extents[i + 2]) return std::nullopt;
      places.push_back(phase * extents[i + 2] + p);
    }
    answer = b.op("Gather", {answer, b.integers(places)}, with({{"axis", static_cast<std::int64_t>(i + 2)}}));
  }
  std::vector<std::int64_t> swap{1, 0};
  for (std::size_t i = 0; i < d; ++i) swap.push_back(static_cast<std::int64_t>(i + 2));
  return b.op("Transpose", {answer}, with({{"perm", swap}}));
}

}  // namespace isomer
