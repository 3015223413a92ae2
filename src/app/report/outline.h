// Outline: a graph under the steps of a certificate, as names and wiring. It mirrors what kernel/prove/step.h
// does to a graph, without proofs, types and numbers, and remembers for which step a node was made or died.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernel/prove/step.h"
#include "model/graph/graph.h"

namespace isomer {

// Sets of regions that turned out to be one.
class RegionUnions {
 public:
  std::size_t add() {
    parent_.push_back(parent_.size());
    return parent_.size() - 1;
  }
  std::size_t find(std::size_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void join(std::size_t a, std::size_t b) { parent_[find(b)] = find(a); }

 private:
  std::vector<std::size_t> parent_;
};

// A node of the graph as it is now, or was.
struct OutlineItem {
  bool is_operator = false;
  bool is_kept_alive = false;  // it has no output that could be read
  std::vector<Value> inputs;   // of items; captures, too
  std::vector<std::string> outputs;
  std::optional<NodeId> original = {};     // of IN
  std::optional<std::size_t> region = {};  // that made it, or that it died in
  bool is_alive = true;
};

// The graph under the certificate's steps, as names and wiring.
class Outline {
 public:
  explicit Outline(const Graph& in);

  // Replacements that follow one another are all about the graph before the first of them.
  void replace(const std::vector<const Claim*>& claims);
  void fold(const std::vector<std::string>& values);
  // The nodes stay; what they make has other names.
  void widen(const std::vector<std::string>& values);

  const std::vector<OutlineItem>& items() const { return items_; }
  const std::vector<std::size_t>& claims() const { return claims_; }  // the region that each one made
  RegionUnions unions;
  std::optional<std::size_t> folded;  // region of a folded value that belongs to no replacement

 private:
  NodeId add(OutlineItem item);

  // The nodes that compute the claim's outputs from its inputs.
  void mark_cone(const Claim& claim, std::size_t region, std::unordered_map<NodeId, std::size_t>& cones);
  void add_program(const Claim& claim, std::size_t region, std::map<Value, Value>& replaced,
                   std::vector<std::pair<Value, std::string>>& names);
  void redirect(const std::map<Value, Value>& replaced);

  // Unread nodes are removed: with the replacement that they were computed for, or with their readers.
  void bury(const std::unordered_map<NodeId, std::size_t>& cones);
  void settle(const std::vector<NodeId>& dead, const std::unordered_map<NodeId, std::size_t>& cones);
  void forget(NodeId id);
  void rename(Value value, const std::string& name);

  std::vector<OutlineItem> items_;
  std::vector<Value> outputs_;
  std::unordered_map<std::string, Value> names_;
  std::vector<std::pair<Value, std::string>> kept_names_;
  std::vector<std::size_t> claims_;
};

}  // namespace isomer
