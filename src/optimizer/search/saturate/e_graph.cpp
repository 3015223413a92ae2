#include "optimizer/search/saturate/e_graph.h"

#include <algorithm>

#include "base/check.h"

namespace isomer {

EGraph::NodeNumber EGraph::add(const Digest& what, std::vector<Class> children, double price) {
  for (Class& c : children) c = canonical(c);
  const auto number = static_cast<NodeNumber>(nodes_.size());
  const auto [at, is_new] = known_.try_emplace({what, children}, number);
  if (!is_new) return canonical_node(at->second);
  const auto own = static_cast<Class>(parent_.size());
  parent_.push_back(own);
  nodes_.push_back({.what = what, .children = std::move(children), .price = price, .of = own});
  same_.push_back(number);
  classes_[own] = {number};
  return number;
}

EGraph::Class EGraph::canonical(Class c) const {
  while (parent_[c] != c) c = parent_[c];
  return c;
}

EGraph::NodeNumber EGraph::canonical_node(NodeNumber n) const {
  while (same_[n] != n) n = same_[n];
  return n;
}

void EGraph::unite(Class a, Class b) {
  a = canonical(a);
  b = canonical(b);
  parent_[std::max(a, b)] = std::min(a, b);
}

void EGraph::rebuild() {
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    known_.clear();
    for (NodeNumber n = 0; n < nodes_.size(); ++n) {
      if (same_[n] != n) continue;
      Node& node = nodes_[n];
      for (Class& c : node.children) c = canonical(c);
      const auto [at, is_new] = known_.try_emplace({node.what, node.children}, n);
      if (is_new) continue;
      same_[n] = at->second;
      if (class_of(n) == class_of(at->second)) continue;
      unite(node.of, nodes_[at->second].of);
      has_changed = true;
    }
  }
  classes_.clear();
  for (NodeNumber n = 0; n < nodes_.size(); ++n)
    if (same_[n] == n) classes_[class_of(n)].push_back(n);
}

}  // namespace isomer
