// What proposers share when they look at one graph: who reads what, what is constant, sizes to look at, and
// what a claim would save.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/analysis.h"
#include "graph/graph.h"
#include "graph/infer.h"
#include "rewrite/node_attributes.h"
#include "rewrite/program_builder.h"
#include "rewrite/proposal.h"

namespace isomer {

class Site {
 public:
  Site(const Graph& graph, const Inference& inference, const Machine& machine);

  const Graph& graph;
  const Inference& inference;
  const Machine& machine;

  const Node& node(NodeId id) const { return graph.node(id); }
  const std::string& name(Value v) const { return graph.name_of(v); }
  // Initializers and Constant nodes: what a claim's program may read by name.
  bool is_constant(Value v) const { return v.exists() && constants_.contains(v); }
  bool is_output(Value v) const { return outputs_.contains(v); }
  const std::vector<NodeId>& readers(Value v) const;
  std::optional<Value> find(const std::string& name) const;
  std::size_t position(NodeId id) const { return positions_.at(id); }  // in the graph's order
  // The one node that reads this value, if nothing else does.
  std::optional<NodeId> only_reader(Value v) const;
  // An operator of the standard domain with this name and no bodies.
  bool is(NodeId id, std::string_view op) const;
  // The producer of a value, if it is such an operator.
  std::optional<NodeId> made_by(Value v, std::string_view op) const;
  // Whether it is known that the runtime computes this convolution in its blocked layout.
  bool is_blocked(NodeId convolution) const {
    return machine.is_blocked(graph, inference, convolution).value_or(false);
  }
  // Inputs that exist and are no constants.
  std::vector<Value> activations(NodeId id) const;

  // Equal for constants of the same bytes.
  int content(Value constant) const { return contents_.at(constant); }

  // Extents; named ones at a size that stands for any.
  std::optional<Extents> sizes(Value v) const;
  // Extents, all of them numbers.
  std::optional<Extents> concrete_sizes(Value v) const;
  std::size_t rank(Value v) const;                                   // 0 where it is not known
  std::optional<std::vector<std::int64_t>> integers(Value v) const;  // of a constant
  std::optional<Formula> formula(NodeId id) const;  // of a node of the standard kind, one output

 private:
  std::set<Value> constants_, outputs_;
  std::map<Value, int> contents_;
  std::unordered_map<std::string, Value> names_;
  std::unordered_map<NodeId, std::size_t> positions_;
  std::map<Value, std::vector<NodeId>> readers_;
};

// Whether a value is an input's at other coordinates.
bool moves_data(const ExprNode& value);

// Whether every element of the output depends only on the elements at the same place, under broadcasting.
bool is_pointwise(const Site& site, NodeId id);
// The same for constants that broadcast against a value of this rank, with an axis of one element put in (or
// taken out): the new shape of a constant, or nothing if it stays.
std::optional<Extents> with_axis_inserted(const Extents& constant, std::size_t rank, std::size_t axis);

// One position of an axis, which is gone.
struct Position {
  Value whole;
  std::int64_t axis, at;
};
// Of a Gather of an activation; nullopt: it is none, or its index or sizes are not known.
std::optional<Position> position_of(const Site& site, Value v);

// What a claim saves: the price of what nobody needs any more, less the price of the new program, without
// what is folded. Price is scalar operations plus something for each element and node. nullopt: the new
// program is not legal, or a size is not known.
std::optional<double> saved(const Site& site, const Claim& claim);

// The price of a whole program, without what depends on constants only. Nodes of unknown price are free: what
// nobody rewrites costs the same before and after.
double price(const Graph& graph, const Inference& inference, const Machine& machine);

// A proposal that replaces one value by what the builder made of it; nullopt where `saved` knows nothing. Its
// folds are the constants that the builder's program computes.
std::optional<Proposal> propose(const Site& site, std::string kind, std::string what, ProgramBuilder& builder,
                                const std::vector<Value>& replaced, const std::vector<Value>& by);

}  // namespace isomer
