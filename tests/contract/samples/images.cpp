// Samples of operators that interpolate.
#include "contract/samples/samples.h"

namespace isomer::contract::samples {

void AffineGrid(Sampler& s) {
  const std::int64_t d = s.between(2, 3), batch = s.between(1, 2);
  s.input(ElementType::Float, {batch, d, d + 1});
  std::vector<std::int64_t> size{batch, s.between(1, 3)};
  for (std::int64_t i = 0; i < d; ++i) size.push_back(s.between(2, 5));
  s.integers(size);
  if (s.chance(0.5)) s.attribute("align_corners", s.between(0, 1));
}

void GridSample(Sampler& s) {
  const int spatial = s.opset() >= 20 && s.chance(0.3) ? 3 : 2;
  Extents image{s.between(1, 2), s.between(1, 2)}, grid{image[0]};
  for (int k = 0; k < spatial; ++k) {
    image.push_back(s.between(2, 4));
    grid.push_back(s.between(1, 3));
  }
  grid.push_back(spatial);
  s.input(ElementType::Float, image);
  s.input(ElementType::Float, grid);
  const bool nearest = s.chance(0.3), cubic = !nearest && spatial == 2 && s.chance(0.3);
  const std::string two = s.opset() < 20 ? "bi" : "";
  s.attribute("mode", nearest ? "nearest" : cubic ? two + "cubic" : two + "linear");
  s.attribute("padding_mode", std::string(cubic ? "zeros" : s.pick({"zeros", "border", "reflection"})));
  if (s.chance(0.7)) s.attribute("align_corners", s.between(0, 1));
}

void Resize(Sampler& s) {
  using enum ElementType;
  const bool cubic = s.opset() >= 11 && s.chance(0.3), linear = cubic || s.chance(0.5);
  const Extents shape = cubic ? s.shape(4, 4, 4) : linear ? s.shape(2, 5, 4) : s.shape(1, 5, 4);
  const std::size_t rank = shape.size();
  s.input(linear ? Float : s.pick({Float, Int32, Int8, Uint8}), shape);
  // The runtime interpolates all of 2 or 3 axes, the last two of 4 (or the two in the middle), the last three
  // of 5.
  const std::size_t first = rank == 4 ? 2 : rank == 5 ? 2 : 0;
  const bool by_size = s.opset() >= 11 && s.chance(0.5);
  std::vector<float> scales(rank, 1.0f);
  std::vector<std::int64_t> sizes = shape;
  for (std::size_t i = linear ? first : 0; i < rank; ++i) {
    sizes[i] = s.between(1, 9);
    scales[i] = s.pick({1.0f, 2.0f, 3.0f, 2.5f, 0.5f, 0.7f});
    if (scales[i] * static_cast<float>(shape[i]) < 1.0f) scales[i] = 2.0f;
  }
  s.attribute("mode", std::string(cubic ? "cubic" : linear ? "linear" : "nearest"));
  if (cubic && s.chance(0.5)) s.attribute("cubic_coeff_a", s.pick({-0.5f, -0.75f}));
  if (cubic && s.chance(0.4)) s.attribute("exclude_outside", std::int64_t{1});
  const auto scales_tensor = Tensor::of(Float, {static_cast<std::int64_t>(rank)}, scales);
  if (s.opset() < 11) return s.constant(scales_tensor);
  if (s.opset() < 13) s.constant(Tensor::of<float>(Float, {0}, {}));
  else s.absent();
  if (!by_size) s.constant(scales_tensor);
  else if (s.opset() < 13) s.constant(Tensor::of<float>(Float, {0}, {}));
  else s.absent();
  if (by_size) s.integers(sizes);
  std::string coordinates = s.pick({"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"});
  if (s.opset() >= 19 && s.chance(0.3)) coordinates = "half_pixel_symmetric";
  if (s.opset() < 13 && !linear && s.chance(0.2)) coordinates = "tf_half_pixel_for_nn";
  if (s.chance(0.9)) s.attribute("coordinate_transformation_mode", coordinates);
  if (!linear && s.chance(0.8))
    s.attribute("nearest_mode",
                std::string(s.pick({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})));
}

void RoiAlign(Sampler& s) {
  const std::int64_t images = s.between(1, 2), boxes = s.between(1, 3);
  s.input(ElementType::Float, {images, s.between(1, 2), s.between(2, 5), s.between(2, 5)});
  std::vector<float> corners;
  // No point lies where it just counts or just doesn't.
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return static_cast<float>(s.between(low, high)) * 0.37f + 0.0137f;
  };
  for (std::int64_t r = 0; r < boxes; ++r) {
    const float x = draw(-6, 12), y = draw(-6, 12);
    for (const float corner : {x, y, x + draw(1, 12), y + draw(1, 12)}) corners.push_back(corner);
  }
  s.constant(Tensor::of(ElementType::Float, {boxes, 4}, corners));
  std::vector<std::int64_t> batch;
  for (std::int64_t r = 0; r < boxes; ++r) batch.push_back(s.between(0, images - 1));
  s.integers(batch);
  s.attribute("sampling_ratio", s.between(1, 3));
  s.attribute("output_height", s.between(1, 3));
  if (s.chance(0.8)) s.attribute("output_width", s.between(1, 3));
  if (s.chance(0.5)) s.attribute("spatial_scale", s.pick({0.5f, 1.5f}));
  if (s.opset() >= 16 && s.chance(0.6))
    s.attribute("coordinate_transformation_mode", std::string(s.pick({"half_pixel", "output_half_pixel"})));
}

void Upsample(Sampler& s) {
  using enum ElementType;
  const bool linear = s.chance(0.5);
  const Extents shape = linear ? s.shape(4, 4, 4) : s.shape(1, 5, 4);
  s.input(linear ? Float : s.pick({Float, Int32, Uint8}), shape);
  std::vector<float> scales(shape.size(), 1.0f);
  for (std::size_t i = linear ? 2 : 0; i < scales.size(); ++i)
    scales[i] = s.pick({1.0f, 2.0f, 3.0f, 1.5f, 2.6f});
  s.attribute("mode", std::string(linear ? "linear" : "nearest"));
  if (s.opset() < 9) s.attribute("scales", scales);
  else s.constant(Tensor::of(Float, {static_cast<std::int64_t>(scales.size())}, scales));
}

}  // namespace isomer::contract::samples
