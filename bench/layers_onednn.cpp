// Times oneDNN's float32 primitives on one thread: the yardstick of bench/layers.py.
// A line of standard input is a layer, with a bias, and of convolutions a ReLU:
//   conv MB GROUPS IC IH IW OC OH OW KH KW SH SW TOP LEFT BOTTOM RIGHT DH DW
//   matmul BATCH M N K      (a batch of 1: the second factor is a weight, which oneDNN packs; else neither
//   is)
// For each it prints: microseconds that a fifth of its runs stays below | the implementation that oneDNN
// chose. Layouts are the primitive's choice, and no reorder is counted.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <oneapi/dnnl/dnnl.hpp>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

using dnnl::memory;
using Tag = memory::format_tag;
constexpr auto kFloat = memory::data_type::f32;

static double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static memory Filled(const memory::desc& desc, const dnnl::engine& engine) {
  memory made(desc, engine);
  auto* values = static_cast<float*>(made.get_data_handle());
  for (size_t i = 0; i < desc.get_size() / sizeof(float); ++i)
    values[i] = 0.01F * (static_cast<float>(i * 2654435761U >> 20 & 63) - 31);
  return made;
}

struct Layer {
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
  std::string implementation;
};

template <typename Description>
static Layer Made(const Description& description, dnnl::primitive primitive, bool bias,
                  const dnnl::engine& engine) {
  Layer layer{std::move(primitive), {}, description.impl_info_str()};
  layer.arguments = {{DNNL_ARG_SRC, Filled(description.src_desc(), engine)},
                     {DNNL_ARG_WEIGHTS, Filled(description.weights_desc(), engine)},
                     {DNNL_ARG_DST, memory(description.dst_desc(), engine)}};
  if (bias) layer.arguments[DNNL_ARG_BIAS] = Filled(description.bias_desc(), engine);
  return layer;
}

static Layer Convolution(const std::vector<long>& v, const dnnl::engine& engine) {
  dnnl::post_ops relu;
  relu.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(relu);
  const long groups = v[1], ic = v[2], oc = v[5];
  const memory::dims weights = groups > 1 ? memory::dims{groups, oc / groups, ic / groups, v[8], v[9]}
                                          : memory::dims{oc, ic, v[8], v[9]};
  const dnnl::convolution_forward::primitive_desc description(
      engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
      {{v[0], ic, v[3], v[4]}, kFloat, ic == 3 ? Tag::nchw : Tag::any}, {weights, kFloat, Tag::any},
      {{oc}, kFloat, Tag::any}, {{v[0], oc, v[6], v[7]}, kFloat, Tag::any}, {v[10], v[11]},
      {v[16] - 1, v[17] - 1}, {v[12], v[13]}, {v[14], v[15]}, attributes);
  return Made(description, dnnl::convolution_forward(description), true, engine);
}

static Layer Product(const std::vector<long>& v, const dnnl::engine& engine) {
  const long batch = v[0], m = v[1], n = v[2], k = v[3];
  if (batch == 1) {
    const dnnl::matmul::primitive_desc description(engine, {{m, k}, kFloat, Tag::ab},
                                                   {{k, n}, kFloat, Tag::any}, {{1, n}, kFloat, Tag::ab},
                                                   {{m, n}, kFloat, Tag::ab});
    return Made(description, dnnl::matmul(description), true, engine);
  }
  const dnnl::matmul::primitive_desc description(engine, {{batch, m, k}, kFloat, Tag::abc},
                                                 {{batch, k, n}, kFloat, Tag::abc},
                                                 {{batch, m, n}, kFloat, Tag::abc});
  return Made(description, dnnl::matmul(description), false, engine);
}

int main() {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    std::vector<long> sizes;
    for (long size; words >> size;) sizes.push_back(size);
    try {
      const Layer layer = kind == "conv" ? Convolution(sizes, engine) : Product(sizes, engine);
      std::vector<double> seconds;
      const double began = Now();
      for (int run = 0; run < 400 && (run < 12 || Now() - began < 0.3); ++run) {
        const double start = Now();
        layer.primitive.execute(stream, layer.arguments);
        stream.wait();
        if (run >= 3) seconds.push_back(Now() - start);
      }
      std::ranges::sort(seconds);
      std::printf("%.3f | %s\n", seconds[seconds.size() / 5] * 1e6, layer.implementation.c_str());
    } catch (const dnnl::error& error) {
      std::printf("-1 | %s\n", error.what());
    }
    std::fflush(stdout);
  }
}
