// Writes a value of a model as a separate program, which begins at values whose classes both models have.
// Names are the program's own: equal regions of a model are equal programs.
//
// A class of `open` is expanded to its definition; one of Sweep::follow_in_a to its definition in A, for both
// sides. B's value is proved to be A's, so both programs may use A's definition of it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "kernel/prove/sweep.h"

namespace isomer {

class RegionWriter {
 public:
  RegionWriter(const Sweep& sweep, Side side, const std::set<int>& open)
      : sweep_(sweep),
        side_(side),
        open_(open),
        one_vocabulary_(sweep.a_.graph->opsets == sweep.b_.graph->opsets) {}

  Result<Graph> write(Value target);
  const std::set<int>& begins() const { return begins_; }
  // Classes of the constants that it reads, those that a program replaces apart.
  const std::set<int>& constants() const { return constants_; }
  const std::set<int>& replaced() const { return replaced_; }
  std::set<NodeId> inner_of(Side side) const;  // nodes of this model that the program has

  static std::string input_name(int value_class);

 private:
  enum class Kind : std::uint8_t { Constant, Folded, Sizes, Begin, Inner };
  struct Place {
    Side side = Side::A;
    Value value;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  const Sweep::Model& model(const Place& place) const { return sweep_.model(place.side); }
  int class_of(const Place& place) const { return sweep_.class_of(place.side, place.value); }
  // Where to follow a value that a node of this side reads.
  Place followed(Side side, Value value) const;
  Kind kind_of(const Place& place) const;
  Status walk(const Place& target);
  Status begin_at(const Place& place);
  Value input(const std::string& name, ElementType type, const Dims& shape);
  Value initializer(const Tensor& tensor);
  void add_constant(const Place& place, const Tensor& tensor);
  void add_extents(const Place& place, const Dims& extents);
  Status add_program(const Place& place, const Graph& program);
  NodeId add_node(Node node);

  const Sweep& sweep_;
  Side side_;
  const std::set<int>& open_;
  bool one_vocabulary_;  // both models have the same operator sets
  Graph out_;
  std::map<Place, Value> made_;
  std::map<std::string, Value> inputs_;
  std::vector<std::pair<Side, NodeId>> inner_;  // A's first: they read none of B's
  std::set<int> begins_, constants_, replaced_;
  int next_ = 0;
};

}  // namespace isomer
