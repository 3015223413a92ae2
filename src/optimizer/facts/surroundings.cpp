#include "optimizer/facts/surroundings.h"

#include "model/graph/constant.h"
#include "model/graph/content.h"

namespace isomer {
namespace {

constexpr std::size_t kMostReaders = 4;  // inside of a layer

void add_value(Hasher& hasher, const Site& site, Value v) {
  const ValueInfo& info = site.inference.of(v);
  hasher.add(static_cast<int>(info.type)).add(info.shape ? 1 : 0);
  if (info.shape)
    for (const Dim& dim : *info.shape) add_content(hasher, dim);
  hasher.add(site.is_output(v) ? 1 : 0).add(static_cast<std::uint64_t>(site.readers(v).size()));
  for (const NodeId reader : site.readers(v)) hasher.add(site.is(reader, "Conv") ? 1 : 0);
}

Digest alone(const Site& site, NodeId id) {
  const Node& node = site.node(id);
  Hasher hasher;
  hasher.add(static_cast<int>(node.kind)).add(std::string_view(node.op)).add(std::string_view(node.domain));
  if (node.kind == NodeKind::Operator) add_content(hasher, node.attributes);
  for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
    add_value(hasher, site, {id, k});
    if (const auto constant = known_constant(site.graph, {id, k}); constant && is_small(*constant))
      add_content(hasher, *constant);
  }
  return hasher.digest();
}

}  // namespace

Surroundings::Surroundings(const Site& site, int steps) {
  std::unordered_map<NodeId, Digest> own;
  for (const NodeId id : site.graph.order()) own.emplace(id, alone(site, id));
  digests_ = own;
  for (int k = 0; k < steps; ++k) {
    std::unordered_map<NodeId, Digest> next;
    next.reserve(own.size());
    for (const NodeId id : site.graph.order()) {
      Hasher hasher;
      hasher.add(own.at(id));
      for (const Value& v : site.node(id).inputs) {
        if (!v.exists()) {
          hasher.add(-1);
          continue;
        }
        hasher.add(digests_.at(v.node)).add(std::uint64_t{v.output});
        // The distance distinguishes a value that is read twice from two equal ones. A value that all layers
        // read (a mask, a table of angles) is at another distance from each.
        if (site.node(v.node).kind == NodeKind::Operator && site.readers(v).size() <= kMostReaders)
          hasher.add(static_cast<std::uint64_t>(site.position(id) - site.position(v.node)));
      }
      next.emplace(id, hasher.digest());
    }
    digests_ = std::move(next);
  }
}

}  // namespace isomer
