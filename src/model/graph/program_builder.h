// Builds the small programs that proposers write: operators by name, integer vectors as constants.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/graph/graph.h"

namespace isomer {

class ProgramBuilder {
 public:
  // Values get names that begin with `prefix`.
  ProgramBuilder(const Opsets& opsets, std::string prefix) : prefix_(std::move(prefix)) {
    graph_.opsets = opsets;
  }
  // For a program that replaces this value of the graph: its own values get similar, unused names.
  ProgramBuilder(const Graph& graph, const std::string& name);

  Value input(const std::string& name, const DeclaredType& type = {});  // the same name, the same value
  Value constant(Tensor tensor);
  Value integers(const std::vector<std::int64_t>& values);
  Value scalar_integer(std::int64_t value);
  Value op(const std::string& op, const std::vector<Value>& inputs, const Attributes& attributes = {});
  Value zeros(const std::vector<std::int64_t>& shape) { return op("ConstantOfShape", {integers(shape)}); }
  Value eye(std::int64_t rows);                                                     // the unit matrix
  Value pad_end(Value value, std::size_t rank, std::size_t axis, std::int64_t by);  // with zeros
  // With axes as an input or an attribute, as the opset has it.
  Value squeeze(Value value, const std::vector<std::int64_t>& axes) {
    return with_axes("Squeeze", value, axes);
  }
  Value unsqueeze(Value value, const std::vector<std::int64_t>& axes) {
    return with_axes("Unsqueeze", value, axes);
  }
  Value reshape(Value value, const std::vector<std::int64_t>& shape) {
    return op("Reshape", {value, integers(shape)});
  }
  // To a shape with named extents: those that keep their place are copied, one other may follow from the
  // rest. nullopt: there are more.
  std::optional<Value> reshape(Value value, const Dims& from, const Dims& to);
  // ReduceSum, ReduceMax and so on, along an axis that is dropped.
  Value reduce(const std::string& op, Value value, std::int64_t axis);
  // Nothing where the permutation is the identity.
  Value transpose(Value value, const std::vector<std::int64_t>& order);
  Value concat(const std::vector<Value>& values, std::int64_t axis);
  Value slice(Value value, std::int64_t axis, std::int64_t begin, std::int64_t end);
  // Parts of these sizes; one value each.
  std::vector<Value> split(Value value, std::int64_t axis, const std::vector<std::int64_t>& sizes);
  Value copy(Node node, const std::vector<Value>& inputs);  // the first of its outputs
  // The replacement of a graph's value; else the value itself, by its name.
  Value made_or_input(const Graph& graph, Value value, const std::map<Value, Value>& made);
  void output(Value value) { graph_.add_output(value); }
  const std::string& name_of(Value value) const { return graph_.name_of(value); }
  const Graph& graph() const { return graph_; }

 private:
  Value with_axes(const std::string& name, Value value, const std::vector<std::int64_t>& axes);
  std::string fresh() { return prefix_ + std::to_string(next_++); }
  Graph graph_;
  std::string prefix_;
  int next_ = 0;
};

// The target of a Reshape between these shapes: 0 for a named extent that keeps its place, -1 for another
// one. nullopt: there are more.
std::optional<std::vector<std::int64_t>> reshape_target(const Dims& from, const Dims& to);

std::vector<std::int64_t> joined(std::vector<std::int64_t> a, const std::vector<std::int64_t>& b);

// The order that undoes this one.
std::vector<std::int64_t> inverse_order(const std::vector<std::int64_t>& order);

Attributes with(std::vector<std::pair<std::string, Attribute::Value>> list);

}  // namespace isomer
