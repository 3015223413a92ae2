// Writes a value of a model as a program of its own, which begins at values whose classes both models have.
// Names are the program's own: equal regions of a model are equal programs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "prove/sweep.h"

namespace isomer {

class RegionWriter {
 public:
  RegionWriter(const Sweep& sweep, Side side, const std::set<int>& open)
      : sweep_(sweep), model_(sweep.model(side)), side_(side), open_(open) {}

  Result<Graph> write(Value target);
  const std::set<int>& begins() const { return begins_; }
  // Classes of the constants that it reads, those that a program replaces apart.
  const std::set<int>& constants() const { return constants_; }
  const std::set<int>& replaced() const { return replaced_; }

  static std::string input_name(int value_class);

 private:
  enum class Kind : std::uint8_t { Constant, Folded, Extents, Begin, Inner };
  Kind kind_of(Value value) const;
  Status walk(Value target);
  Status begin_at(Value value);
  Value input(const std::string& name, ElementType type, const Dims& shape);
  Value initializer(const Tensor& tensor);
  void add_constant(Value value, const Tensor& tensor);
  void add_extents(Value value, const Dims& extents);
  Status add_program(Value value, const Graph& program);
  NodeId add_node(Node node);

  const Sweep& sweep_;
  const Sweep::Model& model_;
  Side side_;
  const std::set<int>& open_;
  Graph out_;
  std::map<Value, Value> made_;
  std::map<std::string, Value> inputs_;
  std::vector<NodeId> inner_;
  std::set<int> begins_, constants_, replaced_;
  int next_ = 0;
};

}  // namespace isomer
