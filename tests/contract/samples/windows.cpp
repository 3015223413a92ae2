// Samples of convolutions, pools and other sums over a window.
#include <algorithm>

#include "contract/samples/samples.h"

namespace isomer::contract::samples {
namespace {

// Draws strides, dilations, pads or auto_pad as attributes, and spatial extents of an input on which the
// window fits.
struct WindowSample {
  bool ceil_mode = false;
  bool dilations = true;
  bool crops = false;  // auto_pad SAME may crop, which onnxruntime can't in pools
};
Extents sample_window(Sampler& s, const Extents& kernel, WindowSample options) {
  const std::size_t d = kernel.size();
  std::vector<std::int64_t> strides(d), dilations(d, 1), pads(2 * d, 0);
  const bool dilated = options.dilations && s.chance(0.4), padded = s.chance(0.6);
  const bool same = !dilated && !padded && s.chance(0.5);
  bool may_ceil = options.ceil_mode;
  Extents spatial(d);
  for (std::size_t i = 0; i < d; ++i) {
    strides[i] = s.between(1, same ? std::min<std::int64_t>(3, kernel[i] + (options.crops ? 1 : 0)) : 3);
    if (dilated) dilations[i] = s.between(1, 3);
    if (padded) pads[i] = s.between(0, kernel[i] - 1), pads[d + i] = s.between(0, kernel[i] - 1);
    const std::int64_t reach = dilations[i] * (kernel[i] - 1) + 1;
    const std::int64_t least =
        same ? 1 : std::max({reach - pads[i] - pads[d + i], dilations[i], std::int64_t{1}});
    spatial[i] = least + s.between(0, 4);
    if (s.opset() < 22 && pads[d + i] + strides[i] > reach) may_ceil = false;
  }
  const bool ceils = may_ceil && s.chance(0.5);
  if (s.chance(0.8)) s.attribute("strides", strides);
  if (dilated) s.attribute("dilations", dilations);
  if (padded) s.attribute("pads", pads);
  if (same) s.attribute("auto_pad", std::string(s.pick({"SAME_UPPER", "SAME_LOWER"})));
  else if (!padded && !ceils && s.chance(0.3))
    s.attribute("auto_pad", std::string(s.pick({"VALID", "NOTSET"})));
  if (ceils) s.attribute("ceil_mode", std::int64_t{1});
  return spatial;
}

// An input, a weight and the attributes of a convolution of them.
struct ConvSample {
  Extents x, w;
};
ConvSample sample_convolution(Sampler& s) {
  const int d = static_cast<int>(s.between(1, 3));
  const std::int64_t groups = s.pick({1, 1, 2, 3}), channels = s.between(1, 3);
  const std::int64_t outputs = groups * s.between(1, 3);
  Extents x{s.between(1, 2), groups * channels}, w{outputs, channels};
  for (int i = 0; i < d; ++i) w.push_back(s.between(1, 3));
  const Extents kernel(w.begin() + 2, w.end()), spatial = sample_window(s, kernel, {.crops = true});
  x.insert(x.end(), spatial.begin(), spatial.end());
  if (groups > 1 || s.chance(0.2)) s.attribute("group", groups);
  if (s.chance(0.5)) s.attribute("kernel_shape", kernel);
  return {x, w};
}

// An input of one of the types, kernel_shape and the window's other attributes.
void sample_pool(Sampler& s, TypeList types, WindowSample options) {
  Extents kernel(static_cast<std::size_t>(s.between(1, 3))), x{s.between(1, 2), s.between(1, 3)};
  for (auto& k : kernel) k = s.between(1, 3);
  const Extents spatial = sample_window(s, kernel, options);
  x.insert(x.end(), spatial.begin(), spatial.end());
  s.input(s.pick(types), x);
  s.attribute("kernel_shape", kernel);
}

}  // namespace

void AveragePool(Sampler& s) {
  sample_pool(s, {ElementType::Float}, {.ceil_mode = s.opset() >= 10, .dilations = s.opset() >= 19});
  if (s.chance(0.6)) s.attribute("count_include_pad", s.between(0, 1));
}

void Col2Im(Sampler& s) {
  const std::size_t d = static_cast<std::size_t>(s.between(1, 2));
  std::vector<std::int64_t> image, block, strides, dilations, pads(2 * d);
  std::int64_t taps = 1, blocks = 1;
  for (std::size_t i = 0; i < d; ++i) {
    block.push_back(s.between(1, 3));
    strides.push_back(s.between(1, 2));
    dilations.push_back(d == 1 ? 1 : s.between(1, 2));  // the runtime's are wrong in one dimension
    pads[i] = s.between(0, 1);
    pads[d + i] = s.between(0, 1);
    const std::int64_t covered = dilations[i] * (block[i] - 1) + 1;
    image.push_back(covered + s.between(0, 4));
    taps *= block[i];
    blocks *= (image[i] + pads[i] + pads[d + i] - covered) / strides[i] + 1;
  }
  s.input(ElementType::Float, {s.between(1, 2), s.between(1, 3) * taps, blocks});
  s.integers(image);
  s.integers(block);
  s.attribute("strides", strides);
  s.attribute("dilations", dilations);
  s.attribute("pads", pads);
}

void Conv(Sampler& s) {
  const auto [x, w] = sample_convolution(s);
  s.input(ElementType::Float, x);
  s.input(ElementType::Float, w);
  if (s.chance(0.5)) s.input(ElementType::Float, {w[0]});
}

void ConvInteger(Sampler& s) {
  using enum ElementType;
  const auto [x, w] = sample_convolution(s);
  s.input(Uint8, x, Sampler::Values::Wide);
  const ElementType weight = s.pick({Uint8, Int8});
  s.input(weight, w, Sampler::Values::Wide);
  if (s.chance(0.3)) return;
  s.input(Uint8, {}, Sampler::Values::Wide);
  if (s.chance(0.5)) s.input(weight, {}, Sampler::Values::Wide);
}

void ConvTranspose(Sampler& s) {
  const auto d = static_cast<std::size_t>(s.between(1, 3));
  const std::int64_t groups = s.pick({1, 1, 2, 3}), outputs = s.between(1, 3),
                     channels = groups * s.between(1, 2);
  Extents x{s.between(1, 2), channels}, w{channels, outputs};
  const std::int64_t mode = s.between(0, 3);  // pads, output_padding, output_shape, SAME
  std::vector<std::int64_t> strides(d), dilations(d, 1), pads(2 * d), extra(d), shape(d);
  for (std::size_t i = 0; i < d; ++i) {
    strides[i] = s.between(1, 3);
    if (s.chance(0.3)) dilations[i] = s.between(1, 3);
    w.push_back(s.between(mode == 3 ? strides[i] : 1, 4));  // SAME needs a kernel that covers the stride
    const std::int64_t span = dilations[i] * (w.back() - 1) + 1,
                       most = std::min<std::int64_t>(2, (span - 1) / 2);
    x.push_back(s.between(1, 4));
    pads[i] = s.between(0, most), pads[d + i] = s.between(0, most);
    extra[i] = s.between(0, strides[i] - 1);
    shape[i] = strides[i] * (x.back() - 1) + span - s.between(0, most);
  }
  s.input(ElementType::Float, x);
  s.input(ElementType::Float, w);
  if (s.chance(0.5)) s.input(ElementType::Float, {groups * outputs});
  s.attribute("strides", strides);
  s.attribute("dilations", dilations);
  if (groups > 1 || s.chance(0.2)) s.attribute("group", groups);
  if (s.chance(0.5)) s.attribute("kernel_shape", Extents(w.begin() + 2, w.end()));
  if (mode <= 1) s.attribute("pads", pads);
  if (mode == 1) s.attribute("output_padding", extra);
  if (mode == 2) s.attribute("output_shape", shape);
  if (mode == 3 || (mode == 2 && s.chance(0.3)))
    s.attribute("auto_pad", std::string(s.pick({"SAME_UPPER", "SAME_LOWER"})));
}

void GlobalAveragePool(Sampler& s) { s.input(ElementType::Float, s.shape(3, 5)); }

void GlobalLpPool(Sampler& s) {
  s.input(ElementType::Float, s.shape(3, 5));
  if (s.chance(0.7)) s.attribute("p", s.between(1, 4));
}

void GlobalMaxPool(Sampler& s) { s.input(ElementType::Float, s.shape(3, 5)); }

void LpPool(Sampler& s) {
  sample_pool(s, {ElementType::Float}, {.ceil_mode = s.opset() >= 18, .dilations = s.opset() >= 18});
  if (s.chance(0.7)) s.attribute("p", s.between(1, 4));
}

void LRN(Sampler& s) {
  s.input(ElementType::Float, s.shape(4, 4));
  s.attribute("size", s.pick({std::int64_t{1}, std::int64_t{3}, std::int64_t{5}}));
  if (s.chance(0.5)) s.attribute("alpha", s.pick({0.1F, 1.0F}));
  if (s.chance(0.5)) s.attribute("beta", s.pick({0.5F, 1.0F}));
  if (s.chance(0.5)) s.attribute("bias", s.pick({0.5F, 2.0F}));
}

void MaxPool(Sampler& s) {
  const WindowSample window{.ceil_mode = s.opset() >= 10, .dilations = s.opset() >= 10};
  if (s.opset() < 8) sample_pool(s, {ElementType::Float}, window);
  else if (s.opset() < 12) sample_pool(s, kFloats, window);
  else
    sample_pool(s, {ElementType::Float, ElementType::Double, ElementType::Int8, ElementType::Uint8}, window);
  if (s.opset() >= 8 && s.chance(0.2)) s.attribute("storage_order", s.between(0, 1));
}

void MicrosoftFusedConv(Sampler& s) {
  const auto [x, w] = sample_convolution(s);
  s.input(ElementType::Float, x);
  s.input(ElementType::Float, w);
  if (s.chance(0.5)) s.input(ElementType::Float, {w[0]});
  const auto kind = s.pick<std::string>({"Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid"});
  s.attribute("activation", kind);
  if (kind == "LeakyRelu") s.attribute("activation_params", std::vector<float>{0.1F});
  if (kind == "Clip") s.attribute("activation_params", std::vector<float>{-0.5F, 1.0F});
  if (kind == "HardSigmoid") s.attribute("activation_params", std::vector<float>{0.25F, 0.5F});
}

}  // namespace isomer::contract::samples
