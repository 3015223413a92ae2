#include <fmt/format.h>

#include <algorithm>

#include "propose/fastpath.h"

namespace isomer {
namespace {

struct Conv3 {
  NodeId node;
  Extents x, y, w;
  std::vector<std::int64_t> strides, pads;
  std::vector<NodeId> tail;  // functions of the result alone, each read once
  Value end;
};

// The functions that follow, so that they are computed in two dimensions, too.
void follow(const Site& site, Conv3& c) {
  c.end = {c.node, 0};
  while (const auto next = site.only_reader(c.end)) {
    const bool is_unary = site.node(*next).inputs.size() == 1 && is_pointwise(site, *next);
    if (!is_unary) return;
    c.tail.push_back(*next);
    c.end = {*next, 0};
  }
}

std::optional<Conv3> conv3_at(const Site& site, NodeId id) {
  if (!site.is(id, "Conv")) return std::nullopt;
  const Node& node = site.node(id);
  const auto x = site.concrete_sizes(node.inputs[0]), w = site.concrete_sizes(node.inputs[1]),
             y = site.concrete_sizes({id, 0});
  if (!x || !w || !y || x->size() != 5 || site.activations(id).size() != 1) return std::nullopt;
  const auto dilations = attribute(node, "dilations", std::vector<std::int64_t>(3, 1));
  if (dilations != std::vector<std::int64_t>(3, 1) || attribute(node, "group", std::int64_t{1}) != 1 ||
      attribute(node, "auto_pad", std::string("NOTSET")) != "NOTSET")
    return std::nullopt;
  Conv3 out{.node = id, .x = *x, .y = *y, .w = *w, .strides = {}, .pads = {}, .tail = {}, .end = {}};
  out.strides = attribute(node, "strides", std::vector<std::int64_t>(3, 1));
  out.pads = attribute(node, "pads", std::vector<std::int64_t>(6, 0));
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
    const Value x = b_.reshape(input(), {c_.x[0], c_.x[1], c_.x[2], c_.x[3] * c_.x[4]});
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
    x = b_.reshape(x, {c_.x[0] * frames, taps * c_.x[1], c_.x[3], c_.x[4]});
    const Value w =
        b_.reshape(b_.transpose(weights(), {0, 2, 1, 3, 4}), {c_.w[0], taps * c_.w[1], c_.w[3], c_.w[4]});
    const Value y = conv(x, w, {c_.w[3], c_.w[4]}, {c_.strides[1], c_.strides[2]},
                         {c_.pads[1], c_.pads[2], c_.pads[4], c_.pads[5]});
    const Value apart = b_.reshape(y, {c_.y[0], frames, c_.y[1], c_.y[3], c_.y[4]});
    return result(b_.transpose(apart, {0, 2, 1, 3, 4}));
  }

 private:
  Value input() { return b_.input(site_.name(site_.node(c_.node).inputs[0])); }
  Value weights() { return b_.input(site_.name(site_.node(c_.node).inputs[1])); }
  Value conv(Value x, Value w, const Extents& kernel, const Extents& strides, const Extents& pads) {
    const Node& node = site_.node(c_.node);
    std::vector<Value> inputs{x, w};
    if (node.inputs.size() > 2 && node.inputs[2].exists())
      inputs.push_back(b_.input(site_.name(node.inputs[2])));
    Value y = b_.op("Conv", inputs, with({{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}}));
    for (const NodeId id : c_.tail) y = b_.copy(site_.node(id), {y});
    return y;
  }
  std::optional<Proposal> result(Value y) {
    return propose(site_, "fastpath", fmt::format("{} in two dimensions", label(site_.node(c_.node))), b_,
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
