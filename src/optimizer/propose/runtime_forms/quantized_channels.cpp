// Input channels of a convolution of quantised numbers, filled up to a multiple of four: the runtime's
// integer kernels take four products at a time, and a first convolution has three channels. The added
// channels hold the zero point, so that they add nothing.
#include <fmt/format.h>

#include "model/eval/program.h"
#include "model/graph/constant.h"
#include "optimizer/propose/runtime_forms/fastpath.h"

namespace isomer {
namespace {

constexpr std::int64_t kAtATime = 4;  // bytes that one instruction multiplies and adds up (VNNI, SDOT)
constexpr std::size_t kChannelAxis = 1;

// A tensor in steps and the value that stands for 0; no value: 0 itself.
struct Steps {
  Value x, zero;
};

struct Convolution {
  NodeId node;
  Steps x, w;
  std::optional<NodeId> x_by, w_by;  // what dequantises them; none: the convolution itself
};

Value input_of(const Node& node, std::size_t k) {
  return k < node.inputs.size() ? node.inputs[k] : Value::none();
}

std::optional<Convolution> read_convolution(const Site& site, NodeId id) {
  const Node& node = site.node(id);
  const auto in = [&](std::size_t k) { return input_of(node, k); };
  if (site.is(id, "QLinearConv") && node.inputs.size() > 7)
    return Convolution{.node = id, .x = {in(0), in(2)}, .w = {in(3), in(5)}, .x_by = {}, .w_by = {}};
  if (site.is(id, "ConvInteger"))
    return Convolution{.node = id, .x = {in(0), in(2)}, .w = {in(1), in(3)}, .x_by = {}, .w_by = {}};
  if (!site.is(id, "Conv")) return std::nullopt;
  const auto x = site.made_by(in(0), "DequantizeLinear"), w = site.made_by(in(1), "DequantizeLinear");
  if (!x || !w) return std::nullopt;
  const auto steps = [&](NodeId by) { return Steps{site.node(by).inputs[0], input_of(site.node(by), 2)}; };
  return Convolution{.node = id, .x = steps(*x), .w = steps(*w), .x_by = x, .w_by = w};
}

// The value that fills up a tensor, as Pad takes it: one number. nullopt: there is none.
std::optional<Value> filling(const Site& site, ProgramBuilder& b, Value zero) {
  if (!zero.exists()) return Value::none();
  const auto sizes = site.concrete_sizes(zero);
  if (!sizes) return std::nullopt;
  if (sizes->empty()) return b.input(site.name(zero));
  const auto known = known_constant(site.graph, zero);
  const auto numbers = known ? known->integers() : std::nullopt;
  if (!numbers || numbers->empty()) return std::nullopt;
  for (const std::int64_t n : *numbers)
    if (n != numbers->front()) return std::nullopt;
  const Tensor whole = Tensor::of(ElementType::Int64, {}, std::vector{numbers->front()});
  return b.constant(convert(whole, known->type()));
}

std::optional<Value> filled(const Site& site, ProgramBuilder& b, const Steps& steps, std::int64_t by) {
  const auto fill = filling(site, b, steps.zero);
  if (!fill) return std::nullopt;
  const std::size_t rank = site.rank(steps.x);
  std::vector<std::int64_t> pads(2 * rank, 0);
  pads[rank + kChannelAxis] = by;
  std::vector<Value> inputs{b.input(site.name(steps.x)), b.integers(pads)};
  if (fill->exists()) inputs.push_back(*fill);
  return b.op("Pad", inputs);
}

}  // namespace

void propose_quantized_channels(const Site& site, Proposals& out) {
  if (site.graph.opset("") < 13) return;  // Pad of bytes
  for (const NodeId id : site.graph.order()) {
    const auto found = read_convolution(site, id);
    if (!found || attribute(site.node(id), "group", std::int64_t{1}) != 1) continue;
    const auto sizes = site.concrete_sizes(found->w.x);
    if (!sizes || sizes->size() < 3 || !site.is_constant(found->w.x)) continue;
    const std::int64_t channels = (*sizes)[kChannelAxis], by = (kAtATime - channels % kAtATime) % kAtATime;
    if (by == 0 || channels < 2) continue;
    ProgramBuilder b(site.graph, site.name({id, 0}));
    auto x = filled(site, b, found->x, by), w = filled(site, b, found->w, by);
    if (!x || !w) continue;
    const auto with_first = [&](NodeId node, std::map<std::size_t, Value> replaced) {
      std::vector<Value> inputs;
      const std::vector<Value>& given = site.node(node).inputs;
      for (std::size_t k = 0; k < given.size(); ++k)
        inputs.push_back(replaced.contains(k) ? replaced.at(k)
                         : given[k].exists()  ? b.input(site.name(given[k]))
                                              : given[k]);
      return b.copy(site.node(node), inputs);
    };
    if (found->x_by) x = with_first(*found->x_by, {{0, *x}});
    if (found->w_by) w = with_first(*found->w_by, {{0, *w}});
    const std::size_t weight = site.is(id, "QLinearConv") ? 3 : 1;
    const Value y = with_first(id, {{0, *x}, {weight, *w}});
    if (auto p = propose(
            site, "fastpath",
            fmt::format("{} channels of {} filled up to {}", channels, label(site.node(id)), channels + by),
            b, {{id, 0}}, {y}))
      out.list.push_back(std::move(*p));
  }
}

}  // namespace isomer
