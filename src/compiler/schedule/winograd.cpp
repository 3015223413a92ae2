#include <array>

#include "compiler/schedule/tiler.h"

namespace isomer::lower {
namespace {

// G of F(4, 3), points 0, ±2/3, ±3/2, ∞, and of F(2, 3), points 0, ±1, ∞; kernels/kernels.h has the rest.
std::vector<std::array<double, 3>> transform_of(std::int64_t size) {
  if (size == 2) return {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
  const double a = 2.0 / 3, b = 3.0 / 2;
  const double na = 2 * a * a * (a * a - b * b), nb = 2 * b * b * (b * b - a * a);
  return {{1 / (a * a * b * b), 0, 0},  {1 / na, a / na, a * a / na},  {1 / na, -a / na, a * a / na},
          {1 / nb, b / nb, b * b / nb}, {1 / nb, -b / nb, b * b / nb}, {0, 0, 1}};
}

}  // namespace

// G·g·Gᵀ of every kernel, in float64, as u[edge·i + j][panel][channel][lane].
Storage transformed(const Storage& weights, const Winograd& w, bool has_values) {
  const auto g = transform_of(w.size);
  Storage out{
      .kind = Storage::Kind::Weight, .name = weights.name + ".transformed", .type = ElementType::Float};
  out.extents = {w.points(), w.panels, w.channels, w.width};
  out.strides = row_major(out.extents);
  out.size = *element_count(out.extents);
  if (!has_values) return out;
  Buffer buffer(static_cast<std::size_t>(out.size) * sizeof(float));
  auto* u = reinterpret_cast<float*>(buffer.data());
  const auto k = weights.value.as<float>();
  const std::int64_t outputs = weights.extents[0], channels = weights.extents[1];
  for (std::int64_t o = 0; o < outputs; ++o)
    for (std::int64_t c = 0; c < channels; ++c) {
      const float* kernel = k.data() + (o * channels + c) * 9;
      for (std::size_t i = 0; i < g.size(); ++i)
        for (std::size_t j = 0; j < g.size(); ++j) {
          double v = 0;
          for (std::size_t p = 0; p < 3; ++p)
            for (std::size_t q = 0; q < 3; ++q)
              v += g[i][p] * static_cast<double>(kernel[3 * p + q]) * g[j][q];
          const auto point = static_cast<std::int64_t>(g.size() * i + j);
          const std::int64_t plane = point * w.panels + o / w.width;
          u[(plane * channels + c) * w.width + o % w.width] = static_cast<float>(v);
        }
    }
  out.value = Tensor(ElementType::Float, out.extents, std::move(buffer).freeze());
  return out;
}

}  // namespace isomer::lower
