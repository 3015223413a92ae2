#include "optimizer/facts/needed_positions.h"

#include <algorithm>
#include <ranges>

namespace isomer {

NeededPositions::NeededPositions(const Site& site) {
  const auto whole = [&](Value v) { return Needs(site.rank(v)); };
  const auto add = [&](Value v, const Needs& more) {
    const auto [at, is_new] = needs_.emplace(v, more);
    if (is_new) return;
    Needs& all = at->second;
    if (all.size() != more.size()) {
      all = whole(v);
      return;
    }
    const auto& shape = site.inference.of(v).shape;
    for (std::size_t d = 0; d < all.size(); ++d) all[d] = all[d].united(more[d], (*shape)[d]);
  };
  PartialNodes partial;
  for (const Value& v : site.graph.outputs()) add(v, whole(v));
  for (const NodeId id : site.graph.order() | std::views::reverse) {
    const Node& node = site.node(id);
    if (node.kind != NodeKind::Operator) continue;
    for (const Value& v : node.captures) add(v, whole(v));
    std::vector<std::optional<Needs>> needed(node.outputs.size());
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
      if (const auto at = needs_.find({id, k}); at != needs_.end()) needed[k] = at->second;
    NodeCut cut = cut_of(site, selections_, partial, id, needed);
    bool is_of_interest = false;
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      if (!cut.outputs[k]) continue;
      needs_[{id, k}] = *cut.outputs[k];
      is_of_interest = is_of_interest || isomer::is_cut(*cut.outputs[k]);
    }
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (!node.inputs[k].exists() || !cut.inputs[k]) continue;
      add(node.inputs[k], *cut.inputs[k]);
      is_of_interest = is_of_interest || isomer::is_cut(*cut.inputs[k]);
    }
    if (is_of_interest) cuts_.emplace(id, std::move(cut));
  }
  std::erase_if(cuts_, [&](const auto& entry) {
    const Node& node = site.node(entry.first);
    const auto is_cut_input = [&](Value v) { return v.exists() && is_cut(v); };
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
      if (is_cut({entry.first, k})) return false;
    return std::ranges::none_of(node.inputs, is_cut_input);
  });
}

const Needs& NeededPositions::of(Value v) const {
  static const Needs all;
  const auto at = needs_.find(v);
  return at == needs_.end() ? all : at->second;
}

const NodeCut* NeededPositions::cut(NodeId id) const {
  const auto at = cuts_.find(id);
  return at == cuts_.end() ? nullptr : &at->second;
}

}  // namespace isomer
