#include <fmt/format.h>

#include <algorithm>

#include "optimizer/facts/convolution.h"
#include "optimizer/propose/runtime_forms/fastpath.h"

namespace isomer {
namespace {

struct Conv3 : Convolution {
  Extents in, y;
  std::vector<NodeId> tail;  // functions of the result alone, each read once
  Value end;
};

// The functions that follow, so that they are computed in two dimensions, too.
void follow(const Site& site, Conv3& c) {
  while (const auto next = site.only_reader(c.end)) {
    const bool is_unary = site.node(*next).inputs.size() == 1 && is_pointwise(site, *next);
    if (!is_unary) return;
    c.tail.push_back(*next);
    c.end = {*next, 0};
  }
}

std::optional<Conv3> conv3_at(const Site& site, NodeId id) {
  const auto conv = convolution_at(site, id);
  if (!conv) return std::nullopt;
  const auto x = site.concrete_sizes(conv->x), y = site.concrete_sizes({id, 0});
  if (!x || !y || x->size() != 5 || conv->dilations != Extents(3, 1) || conv->groups != 1)
    return std::nullopt;
  Conv3 out{*conv, *x, *y, {}, {id, 0}};
  follow(site, out);
  return out;
}

class Flattening {
 public:
  Flattening(const Site& site, const Conv3& c) : site_(site), c_(c), b_(site.graph, site.name(c.end)) {}

  // Kernels of one row and column: space as one axis.
  std::optional<Proposal> space_as_one() {
    if (c_.w[3] != 1 || c_.w[4] != 1 || c_.strides[1] != 1 || c_.strides[2] != 1 || c_.pads[1] != 0 ||
        c_.pads[2] != 0 || c_.pads[4] != 0 || c_.pads[5] != 0)
      return std::nullopt;
    const Value x = b_.reshape(input(), {c_.in[0], c_.in[1], c_.in[2], c_.in[3] * c_.in[4]});
    const Value w = b_.reshape(weights(), {c_.w[0], c_.w[1], c_.w[2], 1});
    const Value y = conv(x, w, {c_.w[2], 1}, {c_.strides[0], 1}, {c_.pads[0], 0, c_.pads[3], 0});
    return result(b_.reshape(y, c_.y));
  }

  // Time as a batch; the frames that a kernel sees as channels.
  std::optional<Proposal> time_as_batch() {
    const std::int64_t taps = c_.w[2], frames = c_.y[2];
    Value x = b_.transpose(input(), {0, 2, 1, 3, 4});
    if (taps > 1 || c_.strides[0] > 1) {
      std::vector<std::int64_t> pads(10, 0);
      pads[1] = c_.pads[0];
      pads[6] = c_.pads[3];
      if (pads[1] + pads[6] > 0) x = b_.op("Pad", {x, b_.integers(pads)});
      std::vector<Value> shifted;
      for (std::int64_t k = 0; k < taps; ++k)
        shifted.push_back(
            b_.op("Slice", {x, b_.integers({k}), b_.integers({k + (frames - 1) * c_.strides[0] + 1}),
                            b_.integers({1}), b_.integers({c_.strides[0]})}));
      x = b_.concat(shifted, 2);
    } else if (c_.pads[0] + c_.pads[3] > 0) {
      return std::nullopt;
    }
    x = b_.reshape(x, {c_.in[0] * frames, taps * c_.in[1], c_.in[3], c_.in[4]});
    const Value w =
        b_.reshape(b_.transpose(weights(), {0, 2, 1, 3, 4}), {c_.w[0], taps * c_.w[1], c_.w[3], c_.w[4]});
    const Value y = conv(x, w, {c_.w[3], c_.w[4]}, {c_.strides[1], c_.strides[2]},
                         {c_.pads[1], c_.pads[2], c_.pads[4], c_.pads[5]});
    const Value apart = b_.reshape(y, {c_.y[0], frames, c_.y[1], c_.y[3], c_.y[4]});
    return result(b_.transpose(apart, {0, 2, 1, 3, 4}));
  }

 private:
  Value input() { return b_.input(site_.name(c_.x)); }
  Value weights() { return b_.input(site_.name(c_.weights)); }
  Value conv(Value x, Value w, const Extents& kernel, const Extents& strides, const Extents& pads) {
    std::vector<Value> inputs{x, w};
    if (c_.bias.exists()) inputs.push_back(b_.input(site_.name(c_.bias)));
    Value y = b_.op("Conv", inputs, with({{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}}));
    for (const NodeId id : c_.tail) y = b_.copy(site_.node(id), {y});
    return y;
  }
  std::optional<Proposal> result(Value y) {
    return propose(site_, "fastpath", fmt::format("{} in two dimensions", label(site_.node(c_.id))), b_,
                   {c_.end}, {y});
  }

  const Site& site_;
  const Conv3& c_;
  ProgramBuilder b_;
};

}  // namespace

void propose_flatten(const Site& site, Proposals& out) {
  for (const NodeId id : site.graph.order()) {
    const auto c = conv3_at(site, id);
    if (!c) continue;
    auto p = Flattening(site, *c).space_as_one();
    if (!p) p = Flattening(site, *c).time_as_batch();
    if (p) out.list.push_back(std::move(*p));
  }
}

}  // namespace isomer
