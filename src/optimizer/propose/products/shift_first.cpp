// Scales, permutations of channels and shifts before a convolution with borders: (x / 255 - mean) / std. The
// shift can't go into the bias, since the border is zero and not the shift of zero. But it can be added
// first, so that the rest goes into the weights: Conv(x - 255 · mean, W / 255 / std).
#include <algorithm>
#include <ranges>

#include "optimizer/facts/convolution.h"
#include "optimizer/propose/products/parts.h"

namespace isomer {
namespace {

struct Step {
  enum class Kind : std::uint8_t { Scale, Shift, Order } kind = Kind::Scale;
  NodeId id = 0;
  Value x, constant;
};

// One number, or one for each channel.
bool is_by_channel(const Site& site, Value constant, std::size_t rank, const Dim& channels) {
  const auto sizes = site.is_constant(constant) ? site.concrete_sizes(constant) : std::nullopt;
  if (!sizes) return false;
  const auto count = element_count(*sizes);
  if (count == 1) return sizes->size() <= rank;
  return count && channels.is(*count) && sizes->size() + 1 >= rank && sizes->size() <= rank &&
         (*sizes)[sizes->size() + 1 - rank] == *count;
}

bool is_order(std::vector<std::int64_t> places) {
  std::ranges::sort(places);
  for (std::size_t k = 0; k < places.size(); ++k)
    if (places[k] != static_cast<std::int64_t>(k)) return false;
  return true;
}

std::optional<Step> step_at(const Site& site, Value v) {
  const Node& node = site.node(v.node);
  const auto& shape = site.inference.of(v).shape;
  if (!site.only_reader(v) || !shape || shape->size() < 3 || node.inputs.size() != 2) return std::nullopt;
  const Dim& channels = (*shape)[1];
  if (site.is(v.node, "Gather")) {
    const auto order = site.is_constant(node.inputs[1]) ? site.integers(node.inputs[1]) : std::nullopt;
    if (attribute(node, "axis", std::int64_t{0}) != 1 || !order ||
        !channels.is(static_cast<std::int64_t>(order->size())) || site.rank(node.inputs[1]) != 1 ||
        site.inference.of(node.inputs[0]).shape != shape || !is_order(*order))
      return std::nullopt;
    return Step{Step::Kind::Order, v.node, node.inputs[0], node.inputs[1]};
  }
  for (const std::size_t k : {0, 1}) {
    const Value x = node.inputs[k], constant = node.inputs[1 - k];
    const bool commutes = site.is(v.node, "Mul") || site.is(v.node, "Add");
    if (!(commutes || ((site.is(v.node, "Sub") || site.is(v.node, "Div")) && k == 0))) continue;
    if (site.is_constant(x) || site.inference.of(x).shape != shape ||
        !is_by_channel(site, constant, shape->size(), channels))
      continue;
    const bool adds = site.is(v.node, "Add") || site.is(v.node, "Sub");
    return Step{adds ? Step::Kind::Shift : Step::Kind::Scale, v.node, x, constant};
  }
  return std::nullopt;
}

class ShiftFirst {
 public:
  ShiftFirst(const Site& site, const Convolution& conv, NodeId id)
      : site_(site), conv_(conv), id_(id), b_(site.graph, site.name({id, 0})) {}

  std::optional<Proposal> proposal() {
    Value x = conv_.x;
    while (const auto step = step_at(site_, x)) {
      steps_.insert(steps_.begin(), *step);
      x = step->x;
    }
    const auto is_shift = [](const Step& s) { return s.kind == Step::Kind::Shift; };
    const auto shifts = std::ranges::count_if(steps_, is_shift);
    if (shifts == 0 || static_cast<std::size_t>(shifts) == steps_.size()) return std::nullopt;
    const Node& node = site_.node(id_);
    std::vector<Value> inputs{shifted(b_.input(site_.name(x))),
                              weights(b_.input(site_.name(node.inputs[1])))};
    if (node.inputs.size() > 2 && node.inputs[2].exists())
      inputs.push_back(b_.input(site_.name(node.inputs[2])));
    return propose(site_, "reassociate",
                   std::to_string(steps_.size()) + " nodes before " + site_.name({id_, 0}) +
                       " are a shift and other weights",
                   b_, {{id_, 0}}, {b_.copy(node, inputs)});
  }

 private:
  Value constant(const Step& s) { return b_.input(site_.name(s.constant)); }
  Value reordered(const Step& s, Value by_channel) {
    return b_.op("Gather", {by_channel, b_.integers(inverse_order(*site_.integers(s.constant)))},
                 with({{"axis", std::int64_t{1}}}));
  }
  // One number for each channel as [1, channels, 1...].
  Value by_channel(Value v, std::int64_t count) {
    std::vector<std::int64_t> shape(site_.rank(conv_.x), 1);
    shape[1] = count;
    return b_.reshape(v, shape);
  }

  Value shifted(Value x) {
    std::optional<Value> sum;
    for (std::size_t k = 0; k < steps_.size(); ++k) {
      if (steps_[k].kind != Step::Kind::Shift) continue;
      const std::int64_t count = *element_count(*site_.concrete_sizes(steps_[k].constant));
      Value s = by_channel(constant(steps_[k]), count);
      if (site_.is(steps_[k].id, "Sub")) s = b_.op("Neg", {s});
      for (std::size_t i = k; i-- > 0;) {
        const Step& before = steps_[i];
        if (before.kind == Step::Kind::Order && count > 1) s = reordered(before, s);
        if (before.kind == Step::Kind::Scale)
          s = b_.op(site_.is(before.id, "Div") ? "Mul" : "Div", {s, constant(before)});
      }
      sum = sum ? b_.op("Add", {*sum, s}) : s;
    }
    return b_.op("Add", {x, *sum});
  }
  Value weights(Value w) {
    for (const Step& s : std::views::reverse(steps_)) {
      if (s.kind == Step::Kind::Order) w = reordered(s, w);
      if (s.kind == Step::Kind::Scale) w = b_.op(site_.node(s.id).op, {w, constant(s)});
    }
    return w;
  }

  const Site& site_;
  const Convolution& conv_;
  NodeId id_;
  ProgramBuilder b_;
  std::vector<Step> steps_;
};

}  // namespace

void propose_shift_first(const Site& site, Proposals& out) {
  for (const NodeId id : site.graph.order()) {
    const auto conv = convolution_at(site, id);
    if (!conv || conv->groups != 1) continue;
    auto found = ShiftFirst(site, *conv, id).proposal();
    if (found) out.list.push_back(std::move(*found));
  }
}

}  // namespace isomer
