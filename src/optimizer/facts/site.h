// Shared by proposers when they examine one graph: readers of values, constants, sizes, and the saving of a
// claim.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/analysis/analysis.h"
#include "model/graph/graph.h"
#include "model/graph/graph_index.h"
#include "model/graph/infer.h"
#include "model/graph/node_attributes.h"
#include "model/graph/program_builder.h"
#include "optimizer/facts/proposal.h"

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
  bool is_output(Value v) const { return index_.is_output(v); }
  const std::vector<NodeId>& readers(Value v) const { return index_.readers(v); }
  std::optional<Value> find(const std::string& name) const { return index_.find(name); }
  std::size_t position(NodeId id) const { return index_.position(id); }
  std::optional<NodeId> only_reader(Value v) const { return index_.only_reader(v); }
  // An operator of the standard domain with this name and no bodies.
  bool is(NodeId id, std::string_view op) const;
  // The producer of a value, if it is such an operator.
  std::optional<NodeId> made_by(Value v, std::string_view op) const;
  // Whether it is known that the runtime computes this convolution in its blocked layout.
  bool is_blocked(NodeId convolution) const {
    return isomer::is_blocked(machine, graph, inference, convolution).value_or(false);
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
  GraphIndex index_;
  std::set<Value> constants_;
  std::map<Value, int> contents_;
};

// For a walk from values to what they are computed of: each is met after all of its readers.
struct LaterFirst {
  const Site* site;
  bool operator()(Value a, Value b) const {
    return a.node != b.node ? site->position(a.node) > site->position(b.node) : a.output < b.output;
  }
};

// Whether every element of the output depends only on the elements at the same place, under broadcasting.
bool is_pointwise(const Site& site, NodeId id);
// The same for constants that broadcast against a value of this rank, with an axis of one element put in (or
// taken out): the new shape of a constant, or nothing if it stays.
std::optional<Extents> with_axis_inserted(const Extents& constant, std::size_t rank, std::size_t axis);

// A Gather of one index: the axis is dropped.
struct Position {
  Value whole;
  std::int64_t axis, at;
};
// The position that a Gather of an activation selects; nullopt: it is no such Gather, or its index or sizes
// are not known.
std::optional<Position> position_of(const Site& site, Value v);

// A claim's program with the types of its inputs, and the model's constants.
Graph with_constants(const Site& site, const Graph& program);

// A proposal that replaces one value by what the builder made of it; nullopt where its gain is not known. Its
// folds are the constants that the builder's program computes.
std::optional<Proposal> propose(const Site& site, std::string kind, std::string what, ProgramBuilder& builder,
                                const std::vector<Value>& replaced, const std::vector<Value>& by);

}  // namespace isomer
