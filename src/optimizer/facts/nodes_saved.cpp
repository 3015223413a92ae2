#include "optimizer/facts/nodes_saved.h"

#include <algorithm>
#include <set>
#include <vector>

#include "optimizer/facts/price.h"

namespace isomer {
namespace {

// Walks from what is replaced to what that was computed of.
class Dying {
 public:
  Dying(const Site& site, const Claim& claim) : site_(site) {
    for (const std::string& name : claim.outputs)
      if (const auto value = site.find(name)) replaced_.insert(*value);
    for (const NodeId id : claim.after.order()) {
      const Node& node = claim.after.node(id);
      if (node.kind == NodeKind::Input)
        if (const auto value = site.find(node.outputs[0])) read_.insert(*value);
    }
  }
  std::int64_t count() {
    std::vector<Value> waiting(replaced_.begin(), replaced_.end());
    std::int64_t count = 0;
    while (!waiting.empty()) {
      const NodeId id = waiting.back().node;
      waiting.pop_back();
      const Node& node = site_.node(id);
      if (node.kind != NodeKind::Operator || dead_.contains(id) || !dies(id)) continue;
      dead_.insert(id);
      ++count;
      for (const Value& v : node.inputs)
        if (v.exists()) waiting.push_back(v);
    }
    return count;
  }

 private:
  bool dies(NodeId id) const {
    for (std::uint32_t k = 0; k < site_.node(id).outputs.size(); ++k) {
      const Value v{id, k};
      if (replaced_.contains(v)) continue;
      const auto is_alive = [&](NodeId reader) { return !dead_.contains(reader); };
      if (site_.is_output(v) || read_.contains(v) || std::ranges::any_of(site_.readers(v), is_alive))
        return false;
    }
    return true;
  }

  const Site& site_;
  std::set<Value> replaced_, read_;
  std::set<NodeId> dead_;
};

}  // namespace

std::int64_t nodes_saved(const Site& site, const Proposal& proposal) {
  const Graph after = with_constants(site, proposal.claim.after);
  const std::set<NodeId> folded = folded_nodes(after);
  const auto is_made = [&](NodeId id) {
    return after.node(id).kind == NodeKind::Operator && !folded.contains(id);
  };
  return Dying(site, proposal.claim).count() - std::ranges::count_if(after.order(), is_made);
}

}  // namespace isomer
