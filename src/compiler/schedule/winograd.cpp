#include "compiler/schedule/winograd.h"

#include <algorithm>
#include <array>

namespace isomer::lower {
namespace {

// G of F(4, 3), points 0, ±2/3, ±3/2, ∞, and of F(2, 3), points 0, ±1, ∞; kernels/winograd.h has the rest.
std::vector<std::array<double, 3>> transform_of(std::int64_t size) {
  if (size == 2) return {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
  const double a = 2.0 / 3, b = 3.0 / 2;
  const double na = 2 * a * a * (a * a - b * b), nb = 2 * b * b * (b * b - a * a);
  return {{1 / (a * a * b * b), 0, 0},  {1 / na, a / na, a * a / na},  {1 / na, -a / na, a * a / na},
          {1 / nb, b / nb, b * b / nb}, {1 / nb, -b / nb, b * b / nb}, {0, 0, 1}};
}

// Smaller images have too few tiles for the weights to load, four times more; fewer channels fill no vector.
constexpr std::int64_t kShortest = 12, kFewestChannels = 16;
constexpr std::int64_t kBlockBytes =
    600'000;  // of transformed inputs and products: the second cache may have 1 MB
constexpr std::int64_t kFewestTiles = 42;  // that weights are brought for: three registers' height

// The axis of the nest that a window of three steps moves along by one, and where its first position begins.
struct Window {
  Axis along = {};
  std::int64_t begin = 0;
};
std::optional<Window> window_of(const ProductNest& product, std::size_t d) {
  const auto step = product.right().at[d].as_axis();
  if (!step || !step->extent.is(3) || !contains(product.sum().axes, *step)) return std::nullopt;
  const Index rest = product.left().at[d] - Index(*step);
  if (!rest.offset().is_concrete() || rest.terms().size() != 1 ||
      rest.terms()[0].atom.kind != Index::AtomKind::Axis || !rest.terms()[0].scale.is(1))
    return std::nullopt;
  const Axis along = rest.terms()[0].atom.axis;
  if (!contains(product.nest().axes, along)) return std::nullopt;
  return Window{along, rest.offset().concrete()};
}

// Axes, channels and windows; nullopt: it is no such convolution.
std::optional<Winograd> find_convolution(const ProductNest& product) {
  const ExprNode &image = product.left(), &weights = product.right();
  const Storage& s = product.storage_of(image);
  if (product.nest().strip || product.storage_of(weights).kind != Storage::Kind::Weight ||
      product.sum().axes.size() != 3 || image.at.size() != 4 || weights.at.size() != 4 ||
      s.kind == Storage::Kind::Input || s.ring > 0)
    return std::nullopt;
  const auto channel = image.at[1].as_axis(), output = weights.at[0].as_axis();
  if (!channel || !output || !contains(product.sum().axes, *channel) || weights.at[1].as_axis() != channel ||
      !s.strides[1].is(1))
    return std::nullopt;
  const auto rows = window_of(product, 2), columns = window_of(product, 3);
  if (!rows || !columns || !is_known({*output}) || !is_known(product.sum().axes)) return std::nullopt;
  Winograd w{.row = rows->along,
             .column = columns->along,
             .output = *output,
             .left = image.tensor.number,
             .left_first = product.is_left_first(),
             .row_axis = 2,
             .column_axis = 3,
             .channel_axis = 1,
             .top = rows->begin,
             .left_edge = columns->begin,
             .channels = extent(*channel)};
  for (const Axis& a : product.nest().axes) {
    if (a == w.row || a == w.column || a == w.output) continue;
    if (mentions(weights, a)) return std::nullopt;
    w.batch.push_back(a);
  }
  return w;
}

bool is_worth(const Winograd& w, const Sizes& sizes, std::int64_t shortest) {
  return sizes.usual(w.row) >= shortest && sizes.usual(w.column) >= shortest &&
         w.channels >= kFewestChannels && w.channels % 16 == 0 && extent(w.output) % 16 == 0 &&
         extent(w.output) >= 32;
}

void add_buffers(Winograd& w, const ProductNest& product, Packing& packing) {
  Storage scratch{.name = product.nest().name + ".scratch", .type = ElementType::Float};
  scratch.extents = {Dim(w.scratch_size())};
  scratch.strides = {Dim(1)};
  scratch.size = scratch.extents[0];
  w.scratch = packing.add(std::move(scratch));
  Storage zeros{.kind = Storage::Kind::Weight,
                .name = "zeros",
                .type = ElementType::Float,
                .extents = {Dim(w.channels)},
                .strides = {Dim(1)},
                .size = w.channels};
  zeros.value =
      Tensor::of(ElementType::Float, {w.channels}, std::vector<float>(static_cast<std::size_t>(w.channels)));
  w.zeros = packing.add(std::move(zeros));
  w.weights =
      packing.add(transform_weights(product.storage_of(product.right()), w, packing.plan().has_values));
}

}  // namespace

bool take_winograd(ProductNest& product, Packing& packing, Exactness exactness,
                   const std::optional<TileRequest>& request) {
  auto found = find_convolution(product);
  if (!found || !is_worth(*found, packing.plan().sizes, request ? 1 : kShortest)) return false;
  Winograd& w = *found;
  w.width = 32;
  w.panels = (extent(w.output) + w.width - 1) / w.width;
  w.size = request ? *request->winograd : exactness == Exactness::SmallTiles ? 2 : 4;
  const std::int64_t bytes = w.points() * 4 * (w.channels + extent(w.output));  // of a tile
  const std::int64_t fit = request && request->tiles > 0
                               ? request->tiles
                               : std::max<std::int64_t>(kFewestTiles, kBlockBytes / bytes);
  const std::int64_t all = packing.usual(w.all_tiles());
  const std::int64_t blocks = (all + fit - 1) / fit;
  w.tiles = (all + blocks - 1) / blocks;
  add_buffers(w, product, packing);
  product.nest().winograd = w;
  return true;
}

// G·g·Gᵀ of every kernel, in float64.
Storage transform_weights(const Storage& weights, const Winograd& w, bool has_values) {
  const auto g = transform_of(w.size);
  Storage out{
      .kind = Storage::Kind::Weight, .name = weights.name + ".transformed", .type = ElementType::Float};
  const Extents extents{w.points(), w.panels, w.channels, w.width};
  out.extents = to_dims(extents);
  out.strides = row_major(out.extents);
  out.size = product(out.extents);
  if (!has_values) return out;
  Buffer buffer(static_cast<std::size_t>(out.size.concrete()) * sizeof(float));
  auto* u = reinterpret_cast<float*>(buffer.data());
  const auto k = weights.value.as<float>();
  const std::int64_t outputs = weights.extents[0].concrete(), channels = weights.extents[1].concrete();
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
  out.value = Tensor(ElementType::Float, extents, std::move(buffer).freeze());
  return out;
}

}  // namespace isomer::lower
