// Graph: a tensor program as a value. Persistent, hash-consed, cheap to copy.
//
// Nodes live in an append-only store that graphs share; a graph is a list of its nodes in topological order
// plus its inputs and outputs. Changing a graph makes new nodes and leaves the old graph as it was. Two nodes
// are one iff all of their content is equal, names included: reading a model never merges what the file keeps
// apart (that is a proved step's work), and the canonical hash, which ignores names, sees that they compute
// the same.
//
// Not here: the wire format (io/onnx/), meaning (model/ops/), shapes (infer.h), rewriting (rebuild.h). Walks
// are loops, never recursion.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/expr/formula.h"
#include "model/expr/tensor.h"
#include "model/graph/copy_on_write.h"
#include "model/ops/shared/attribute.h"

namespace isomer {

using NodeId = std::uint32_t;

// One output of one node. An absent optional input is `Value::none()`.
struct Value {
  NodeId node = 0xffffffffu;
  std::uint32_t output = 0;
  static Value none() { return {}; }
  bool exists() const { return node != 0xffffffffu; }
  friend bool operator==(const Value&, const Value&) = default;
  friend auto operator<=>(const Value&, const Value&) = default;
};

enum class NodeKind : std::uint8_t { Input, Initializer, Operator };

// The file's declaration of a value: element type and, if the rank is known, dims (nullopt: a dim without
// value or name).
struct DeclaredType {
  ElementType type = ElementType::Undefined;
  std::optional<std::vector<std::optional<Dim>>> shape = {};
  bool is_tensor = true;      // sequences, maps, optionals and sparse tensors are opaque
  std::string spelling = {};  // of a type that is no tensor, in the text syntax: "seq(float[N])"
  friend bool operator==(const DeclaredType&, const DeclaredType&) = default;
};
using DeclaredTypes = std::map<std::string, DeclaredType, std::less<>>;  // by value name

// A function that the model itself defines; nodes that call it have a body, and no formula.
struct FunctionName {
  std::string domain, name, overload = {};
  friend auto operator<=>(const FunctionName&, const FunctionName&) = default;
};
// With a digest (base/blake2b.h) of all that the file says of each, elements in other files included.
using FunctionDigests = std::map<FunctionName, std::string>;

class OwnOperators;

// The meaning of operator names in a graph: the version of each domain, and custom operators.
// Copied as one, so that no part of a model knows more operators than another.
struct Opsets : std::map<std::string, int, std::less<>> {
  using map::map;
  std::shared_ptr<const OwnOperators> own = {};  // nullptr: none
};

class Graph;

// The body of a node: a graph in one of its attributes, or the function that it calls, inlined for this call.
// Its inputs are the arguments of the node (a Loop: iteration number, condition, carried values), then its
// captures.
struct Body {
  std::string attribute;  // empty: the function
  std::shared_ptr<const Graph> graph;
  std::vector<std::uint32_t> captured;  // per captured input, its place among the node's captures
};

struct Node {
  NodeKind kind = NodeKind::Operator;
  std::string op, domain, overload;  // Operator; domain "" is the standard one ("ai.onnx" is written so)
  std::string name;
  std::vector<Value> inputs;    // Operator
  std::vector<Value> captures;  // outer values read by subgraphs in the attributes; their names must stay
  std::vector<Body> bodies;     // follow from the attributes and functions, so are no content of their own
  // Names; an unused optional output has the empty one. Input and Initializer: one output.
  std::vector<std::string> outputs;
  Attributes attributes;
  std::string extras;  // serialised fields that no code here interprets (doc string, metadata, ...)
  // Input; Initializer, if it is overridable: what the graph input of its name declares.
  DeclaredType declared;
  Tensor tensor;  // Initializer
};

// For messages: the node's name, or "Relu producing y".
std::string label(const Node& node);

class NodeStore;

class Graph {
 public:
  Graph();

  // Building, in topological order: what a node reads is in the graph already. Returns the id of the (maybe
  // shared) node in this graph's order. A node without a named output is there for its effect, never shared.
  NodeId add(Node node);
  NodeId add(NodeId node);  // one that the store has: a node of a graph that this one was copied from
  void add_input(Value value);
  void add_output(Value value);

  const Node& node(NodeId id) const;
  const std::string& name_of(Value value) const;
  bool contains(NodeId id) const { return id < order_->member.size() && order_->member[id]; }
  // Every node once, after all that it reads.
  const std::vector<NodeId>& order() const { return order_->nodes; }
  // As the file lists them, overridable initializers among them, the others not.
  const std::vector<Value>& inputs() const { return inputs_; }
  const std::vector<Value>& outputs() const { return outputs_; }
  std::size_t operator_count() const;

  // An initializer that is also a graph input: the caller may override it, so its value is not known.
  bool is_overridable(NodeId initializer) const;
  void mark_overridable(NodeId initializer);

  Opsets opsets;                             // domain -> version
  int opset(std::string_view domain) const;  // 0: not imported
  std::string name;
  // Open sizes of the inputs are at least this, 0 or 1: the word of the model's user, not of its file.
  int sizes_from = 0;
  CopyOnWrite<FunctionDigests> functions;  // that the model defines
  bool is_call(const Node& node) const;    // of one of these

  // Types that the file declares for values that are no inputs: value_info and graph outputs.
  const DeclaredTypes& declared() const { return *declared_; }
  void declare(std::string value_name, DeclaredType type);

  // Per value, the operators that read it (as input or capture), in order, each once.
  std::map<Value, std::vector<NodeId>> consumers() const;

  // A graph over the same store with this one's name, opsets, functions and declarations, and no nodes.
  Graph without_nodes() const;

 private:
  struct Order {
    std::vector<NodeId> nodes;
    std::vector<bool> member;  // by node id
  };
  void check_readable(Value value) const;
  void check_inputs(const Node& node) const;
  NodeId append(NodeId id);

  std::shared_ptr<NodeStore> store_;
  CopyOnWrite<Order> order_;
  CopyOnWrite<DeclaredTypes> declared_;
  std::vector<Value> inputs_, outputs_;
  std::vector<NodeId> overridable_;  // sorted
};

}  // namespace isomer
