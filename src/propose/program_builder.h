// Builds the small programs that proposers write: operators by name, integer vectors as constants.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace isomer {

class ProgramBuilder {
 public:
  // Values get names that begin with `prefix`.
  ProgramBuilder(const std::map<std::string, int, std::less<>>& opsets, std::string prefix)
      : prefix_(std::move(prefix)) {
    graph_.opsets = opsets;
  }

  Value input(const std::string& name, const DeclaredType& type = {});  // the same name, the same value
  Value constant(Tensor tensor);
  Value integers(const std::vector<std::int64_t>& values);
  Value scalar_integer(std::int64_t value);
  Value op(const std::string& op, const std::vector<Value>& inputs, const Attributes& attributes = {});
  Value copy(Node node, const std::vector<Value>& inputs);  // the first of its outputs
  void output(Value value) { graph_.add_output(value); }
  const std::string& name_of(Value value) const { return graph_.name_of(value); }
  const Graph& graph() const { return graph_; }

 private:
  std::string fresh() { return prefix_ + std::to_string(next_++); }
  Graph graph_;
  std::string prefix_;
  int next_ = 0;
};

Attributes with(std::vector<std::pair<std::string, Attribute::Value>> list);

}  // namespace isomer
