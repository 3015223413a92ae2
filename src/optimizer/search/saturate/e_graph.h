// EGraph: many equal programs in one. A class stands for a value and holds every node that is known to
// compute it; a node reads classes, so that a result for one program holds in all others (Nelson and Oppen;
// Willsey et al., egg, 2021).
//
// Nothing here is trusted: an extracted program is proved again as steps (chosen_program.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/hash.h"

namespace isomer {

class EGraph {
 public:
  using Class = std::uint32_t;
  using NodeNumber = std::uint32_t;
  struct Node {
    Digest what;  // equal: the same function of its inputs
    std::vector<Class> children;
    double price = 0;
    Class of = 0;
  };

  // Known already, or new, in a class of its own.
  NodeNumber add(const Digest& what, std::vector<Class> children, double price);
  void unite(Class a, Class b);
  // After values were united: nodes that now read the same are one, and so are their classes.
  void rebuild();

  // The oldest of the united classes.
  Class canonical(Class c) const;
  NodeNumber canonical_node(NodeNumber n) const;
  Class class_of(NodeNumber n) const { return canonical(nodes_[n].of); }
  const Node& node(NodeNumber n) const { return nodes_[n]; }
  std::size_t size() const { return nodes_.size(); }  // nodes, those that became one included
  // Nodes that are different, by class, in the order of their numbers; as of the last `rebuild`.
  const std::map<Class, std::vector<NodeNumber>>& classes() const { return classes_; }

 private:
  using Key = std::pair<Digest, std::vector<Class>>;
  std::vector<Node> nodes_;
  std::vector<NodeNumber> same_;  // by node: the one that it became
  std::vector<Class> parent_;     // by class: an older one, or itself
  std::map<Key, NodeNumber> known_;
  std::map<Class, std::vector<NodeNumber>> classes_;
};

}  // namespace isomer
