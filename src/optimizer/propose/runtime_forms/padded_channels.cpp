#include <fmt/format.h>

#include <algorithm>

#include "optimizer/propose/runtime_forms/fastpath.h"

namespace isomer {
namespace {

constexpr std::size_t kChannelAxis = 1;

std::int64_t filled(std::int64_t channels) {
  return (channels + kChannelBlock - 1) / kChannelBlock * kChannelBlock;
}

std::optional<std::int64_t> channels_of(const Site& site, Value v) {
  const auto& shape = site.inference.of(v).shape;
  if (!shape || shape->size() != 4) return std::nullopt;
  return (*shape)[kChannelAxis].value();
}

enum class Kind : std::uint8_t { Dense, Depthwise, Passing, Other };

// How a node treats channels.
Kind kind_of(const Site& site, NodeId id) {
  const Node& node = site.node(id);
  if (node.kind != NodeKind::Operator || node.outputs.size() != 1 || !channels_of(site, {id, 0}))
    return Kind::Other;
  if (site.is(id, "Conv")) {
    const auto w = site.concrete_sizes(node.inputs[1]);
    if (!w || w->size() != 4 || site.activations(id).size() != 1) return Kind::Other;
    const std::int64_t groups = attribute(node, "group", std::int64_t{1});
    if (groups == 1) return Kind::Dense;
    return groups == (*w)[0] && (*w)[1] == 1 ? Kind::Depthwise : Kind::Other;
  }
  const auto c = channels_of(site, {id, 0});
  for (const Value& v : site.activations(id))
    if (channels_of(site, v) != c) return Kind::Other;
  const bool is_pool =
      site.is(id, "MaxPool") || site.is(id, "AveragePool") || site.is(id, "GlobalAveragePool");
  return is_pool || is_pointwise(site, id) ? Kind::Passing : Kind::Other;
}

// Values whose channels are filled up, and the nodes that make or read them.
class Class {
 public:
  explicit Class(const Site& site) : site_(site) {}

  // All values that have to go with this one, also across dense convolutions; false: one of them cannot.
  bool add(Value start) {
    std::vector<Value> open{start};
    values.insert(start);
    const auto note = [&](Value v) {
      if (values.insert(v).second) open.push_back(v);
    };
    while (!open.empty()) {
      const Value v = open.back();
      open.pop_back();
      if (site_.is_output(v) || site_.is_constant(v)) return false;
      std::vector<NodeId> around = site_.readers(v);
      around.push_back(v.node);
      for (const NodeId id : around) {
        const Kind kind = kind_of(site_, id);
        if (kind == Kind::Other) return false;
        nodes.insert(id);
        const Value result{id, 0};
        if (kind == Kind::Dense) {
          if (v.node != id && needs(result)) maybe.insert(result);
          continue;
        }
        note(result);
        for (const Value& x : site_.activations(id)) note(x);
      }
    }
    return true;
  }
  bool needs(Value v) const {
    const auto c = channels_of(site_, v);
    return c && *c % kChannelBlock != 0 && *c > 1;
  }
  std::set<Value> values, maybe;  // maybe: behind a dense convolution
  std::set<NodeId> nodes;

 private:
  const Site& site_;
};

class Padding {
 public:
  Padding(const Site& site, const std::set<Value>& values, const std::set<NodeId>& nodes)
      : site_(site), values_(values), nodes_(nodes) {}

  std::optional<Proposal> proposal() {
    std::vector<NodeId> order;
    for (const NodeId id : site_.graph.order())
      if (nodes_.contains(id)) order.push_back(id);
    ProgramBuilder b(site_.graph, site_.name({order[0], 0}));
    std::map<Value, Value> made;
    std::vector<Value> replaced, by;
    for (const NodeId id : order) {
      std::vector<Value> inputs;
      for (std::size_t k = 0; k < site_.node(id).inputs.size(); ++k) {
        const Value v = site_.node(id).inputs[k];
        if (!v.exists()) inputs.push_back(v);
        else if (made.contains(v)) inputs.push_back(made.at(v));
        else if (site_.is_constant(v)) inputs.push_back(constant(b, id, k));
        else inputs.push_back(b.input(site_.name(v)));
      }
      Node node = site_.node(id);
      if (kind_of(site_, id) == Kind::Depthwise)
        node.attributes.set("group", filled(*channels_of(site_, {id, 0})));
      const Value value = b.copy(std::move(node), inputs);
      made[{id, 0}] = value;
      if (values_.contains({id, 0})) continue;
      replaced.emplace_back(id, 0);
      by.push_back(value);
    }
    return propose(
        site_, "fastpath",
        fmt::format("channels of {} values filled up to a multiple of {}", values_.size(), kChannelBlock), b,
        replaced, by);
  }

 private:
  Value constant(ProgramBuilder& b, NodeId id, std::size_t k) {
    const Node& node = site_.node(id);
    const Value v = node.inputs[k];
    Value out = b.input(site_.name(v));
    const auto sizes = site_.concrete_sizes(v);
    if (!sizes) return out;
    const auto fill = [&](std::size_t axis) {
      const std::int64_t by = filled((*sizes)[axis]) - (*sizes)[axis];
      if (by > 0) out = b.pad_end(out, sizes->size(), axis, by);
    };
    const Kind kind = kind_of(site_, id);
    const bool makes = values_.contains({id, 0}), reads = values_.contains(node.inputs[0]);
    if (kind == Kind::Passing) {
      // Against [N, C, H, W]: the third axis from the end.
      if (makes && sizes->size() >= 3 && (*sizes)[sizes->size() - 3] != 1) fill(sizes->size() - 3);
    } else {
      if (makes) fill(0);
      if (kind == Kind::Dense && k == 1 && reads) fill(1);
    }
    return out;
  }

  const Site& site_;
  const std::set<Value>& values_;
  const std::set<NodeId>& nodes_;
};

}  // namespace

void propose_padded_channels(const Site& site, Proposals& out) {
  std::set<Value> seen;
  for (const NodeId id : site.graph.order()) {
    const Value v{id, 0};
    if (kind_of(site, id) != Kind::Dense || seen.contains(v)) continue;
    Class all(site);
    if (!all.needs(v)) continue;
    std::set<Value> values;
    std::set<NodeId> nodes;
    // From class to class, as long as each can be filled up by itself.
    std::vector<Value> open{v};
    while (!open.empty()) {
      const Value next = open.back();
      open.pop_back();
      if (!seen.insert(next).second) continue;
      Class one(site);
      if (!one.add(next)) continue;
      seen.insert(one.values.begin(), one.values.end());
      values.insert(one.values.begin(), one.values.end());
      nodes.insert(one.nodes.begin(), one.nodes.end());
      open.insert(open.end(), one.maybe.begin(), one.maybe.end());
    }
    // A convolution that the runtime already computes in its blocked layout gains nothing.
    const auto is_slow = [&](NodeId node) { return site.is(node, "Conv") && !site.is_blocked(node); };
    if (values.empty() || std::ranges::none_of(nodes, is_slow)) continue;
    if (auto p = Padding(site, values, nodes).proposal()) out.list.push_back(std::move(*p));
  }
}

}  // namespace isomer
