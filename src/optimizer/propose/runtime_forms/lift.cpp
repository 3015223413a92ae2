#include <fmt/format.h>

#include <algorithm>

#include "optimizer/propose/runtime_forms/fastpath.h"

namespace isomer {
namespace {

constexpr std::size_t kRank = 3;
constexpr std::size_t kMostNodes = 400;

bool is_windowed(const Site& site, NodeId id) {
  return site.is(id, "Conv") || site.is(id, "ConvTranspose") || site.is(id, "MaxPool") ||
         site.is(id, "AveragePool");
}

// A node that does the same with one axis more.
bool is_liftable(const Site& site, NodeId id) {
  const Node& node = site.node(id);
  if (node.kind != NodeKind::Operator || node.outputs.size() != 1 || site.rank({id, 0}) != kRank)
    return false;
  const auto activations = site.activations(id);
  if (activations.empty() ||
      !std::ranges::all_of(activations, [&](Value v) { return site.rank(v) == kRank; }))
    return false;
  if (is_windowed(site, id))
    return node.attributes.find("output_shape") == nullptr && activations.size() == 1 &&
           activations[0] == node.inputs[0] && attribute(node, "auto_pad", std::string("NOTSET")) == "NOTSET";
  return is_pointwise(site, id);
}

Node lifted(const Site& site, NodeId id) {
  Node node = site.node(id);
  if (!is_windowed(site, id)) return node;
  for (const char* name : {"kernel_shape", "strides", "dilations"})
    if (const auto* list = node.attributes.find_as<std::vector<std::int64_t>>(name))
      node.attributes.set(name, std::vector<std::int64_t>{1, (*list)[0]});
  if (const auto* pads = node.attributes.find_as<std::vector<std::int64_t>>("pads"))
    node.attributes.set("pads", std::vector<std::int64_t>{0, (*pads)[0], 0, (*pads)[1]});
  if (const auto* more = node.attributes.find_as<std::vector<std::int64_t>>("output_padding"))
    node.attributes.set("output_padding", std::vector<std::int64_t>{0, (*more)[0]});
  return node;
}

// All liftable nodes that hang together, around a convolution.
std::vector<NodeId> component(const Site& site, NodeId start, std::set<NodeId>& seen) {
  std::vector<NodeId> open{start}, found;
  seen.insert(start);
  const auto note = [&](NodeId id) {
    if (!seen.contains(id) && is_liftable(site, id)) {
      seen.insert(id);
      open.push_back(id);
    }
  };
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    found.push_back(id);
    for (const Value& v : site.activations(id)) note(v.node);
    for (const NodeId reader : site.readers({id, 0})) note(reader);
  }
  const std::set<NodeId> inside(found.begin(), found.end());
  std::vector<NodeId> out;
  for (const NodeId id : site.graph.order())
    if (inside.contains(id)) out.push_back(id);
  return out;
}

std::optional<Proposal> lift(const Site& site, const std::vector<NodeId>& nodes) {
  const std::set<NodeId> inside(nodes.begin(), nodes.end());
  ProgramBuilder b(site.graph, site.name({nodes[0], 0}));
  std::map<Value, Value> made;
  const auto input = [&](NodeId id, std::size_t k) -> Value {
    const Value v = site.node(id).inputs[k];
    if (!v.exists()) return v;
    const Value read = made.contains(v) ? made.at(v) : b.input(site.name(v));
    if (made.contains(v)) return read;
    if (!site.is_constant(v)) return made[v] = b.unsqueeze(read, {2});
    const auto sizes = site.concrete_sizes(v);
    if (!sizes) return read;
    if (is_windowed(site, id))
      return k == 1 ? b.reshape(read, {(*sizes)[0], (*sizes)[1], 1, (*sizes)[2]}) : read;
    const auto shape = with_axis_inserted(*sizes, kRank, 2);
    return shape ? b.reshape(read, *shape) : read;
  };
  for (const NodeId id : nodes) {
    std::vector<Value> inputs;
    for (std::size_t k = 0; k < site.node(id).inputs.size(); ++k) inputs.push_back(input(id, k));
    made[{id, 0}] = b.copy(lifted(site, id), inputs);
  }
  std::vector<Value> replaced, by;
  for (const NodeId id : nodes) {
    const Value v{id, 0};
    const bool is_inner = !site.is_output(v) && !site.readers(v).empty() &&
                          std::ranges::all_of(site.readers(v), [&](NodeId r) { return inside.contains(r); });
    if (is_inner) continue;
    replaced.push_back(v);
    by.push_back(b.squeeze(made.at(v), {2}));
  }
  return propose(site, "fastpath",
                 fmt::format("{} nodes around one-dimensional convolutions, in two dimensions", nodes.size()),
                 b, replaced, by);
}

}  // namespace

void propose_lift(const Site& site, Proposals& out) {
  std::set<NodeId> seen;
  for (const NodeId id : site.graph.order()) {
    if (!site.is(id, "Conv") || seen.contains(id) || !is_liftable(site, id)) continue;
    const auto nodes = component(site, id, seen);
    if (nodes.size() > kMostNodes) continue;
    if (auto p = lift(site, nodes)) out.list.push_back(std::move(*p));
  }
}

}  // namespace isomer
