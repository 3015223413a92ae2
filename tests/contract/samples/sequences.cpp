// Samples of recurrent operators, Fourier transforms and their windows.
#include "contract/samples/samples.h"

namespace isomer::contract::samples {
namespace {

void sample_window_function(Sampler& s) {
  // The runtime's coefficients are floats, in double too.
  s.constant(Tensor::of(ElementType::Int64, {}, std::vector{s.between(3, 20)}));
  if (s.chance(0.5)) s.attribute("periodic", s.between(0, 1));
  if (s.chance(0.3)) s.attribute("output_datatype", std::int64_t{1});
}

// The sequence, weights, and some of the optional inputs.
void sample_recurrent(Sampler& s, int gates, int states) {
  const std::int64_t steps = s.between(1, 3), batch = s.between(1, 2), input = s.between(1, 2);
  const std::int64_t hidden = s.between(1, 2), directions = s.pick<std::int64_t>({1, 1, 2});
  const auto draw = [&](const Extents& extents) {
    s.input(ElementType::Float, extents, Sampler::Values::Unit);
  };
  draw({steps, batch, input});
  draw({directions, gates * hidden, input});
  draw({directions, gates * hidden, hidden});
  const bool biased = s.chance(0.7), begun = s.chance(0.5);
  if (biased) draw({directions, 2 * gates * hidden});
  if (begun) {
    if (!biased) s.absent();
    s.absent();  // the lengths
    for (int k = 0; k < states; ++k) draw({directions, batch, hidden});
  }
  s.attribute("hidden_size", hidden);
  if (directions == 2) s.attribute("direction", std::string("bidirectional"));
  else if (s.chance(0.5)) s.attribute("direction", std::string(s.chance(0.5) ? "reverse" : "forward"));
  s.outputs(static_cast<int>(s.between(1, states + 1)));
}

}  // namespace

void BlackmanWindow(Sampler& s) { sample_window_function(s); }

void DFT(Sampler& s) {
  Extents shape = s.shape(2, 3, 7);
  const bool is_real = s.chance(0.5);
  shape.push_back(is_real ? 1 : 2);
  const auto axis = s.between(s.opset() < 20 ? 1 : 0, static_cast<std::int64_t>(shape.size()) - 2);
  const bool one_sided = is_real && s.chance(0.4), inverse = !one_sided && s.chance(0.4);
  // The runtime divides by a length in float.
  s.input(inverse ? ElementType::Float : s.pick(kFloats), shape);
  const bool has_length = s.chance(0.4);
  if (has_length) s.constant(Tensor::of(ElementType::Int64, {}, std::vector{s.between(1, 9)}));
  if (s.opset() < 20) {
    s.attribute("axis", axis);
  } else {
    if (!has_length) s.absent();
    s.constant(Tensor::of(ElementType::Int64, {}, std::vector{axis}));
  }
  if (one_sided) s.attribute("onesided", std::int64_t{1});
  if (inverse) s.attribute("inverse", std::int64_t{1});
}

void GRU(Sampler& s) {
  sample_recurrent(s, 3, 1);
  if (s.chance(0.5)) s.attribute("linear_before_reset", std::int64_t{1});
}

void HammingWindow(Sampler& s) { sample_window_function(s); }
void HannWindow(Sampler& s) { sample_window_function(s); }

void LSTM(Sampler& s) {
  sample_recurrent(s, 4, 2);
  if (s.inputs.size() < 7 || s.chance(0.5)) return;
  const Extents& r = s.inputs[2].value.extents();
  s.input(ElementType::Float, {r[0], 3 * r[2]}, Sampler::Values::Unit);
}

void RNN(Sampler& s) { sample_recurrent(s, 1, 1); }

void STFT(Sampler& s) {
  const std::int64_t length = s.between(2, 8), extent = length + s.between(0, 10);
  const bool has_window = s.chance(0.6);
  s.input(ElementType::Float, {s.between(1, 2), extent, 1});
  s.constant(Tensor::of(ElementType::Int64, {}, std::vector{s.between(1, 4)}));
  if (has_window) s.input(ElementType::Float, {length});
  else s.absent();
  s.constant(Tensor::of(ElementType::Int64, {}, std::vector{length}));
  if (s.chance(0.5)) s.attribute("onesided", s.between(0, 1));
}

}  // namespace isomer::contract::samples
