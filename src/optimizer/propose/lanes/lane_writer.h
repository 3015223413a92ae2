// Writes a computation of several lanes as one computation on all of them. A value of every lane becomes one
// value with the lanes along an additional axis, or in front of the positions of an existing axis.
//
// The formula of the node on the larger values (axis_roles) shows which axes may carry lanes: every input's
// lanes run along one axis of the output, and nothing else reads across them. Values with lanes elsewhere are
// transposed.
#pragma once

#include <optional>
#include <vector>

#include "optimizer/facts/site.h"

namespace isomer {

// Where lanes are: along an axis of their own, before the value's axis of that number, or folded into it,
// lanes outside.
struct LaneLayout {
  std::size_t axis = 0;
  bool is_folded = false;
  friend bool operator==(const LaneLayout&, const LaneLayout&) = default;
};

// A value of one lane, in all lanes.
struct LaneOperand {
  ElementType type = ElementType::Undefined;
  Dims shape;  // in one lane
  bool has_lanes = false;
  Value shared = Value::none();      // the same in all lanes
  std::optional<Tensor> known = {};  // small, of a shared value
  std::vector<Value> separate = {};  // not stacked yet
  bool is_constant = false;          // stacking and turning is done beforehand
  struct Form {
    LaneLayout layout;
    Value value;
  };
  std::vector<Form> forms = {};  // all that were made
};

class LaneWriter {
 public:
  // `stacks`: lanes have an axis of their own rather than share one, where both would do.
  LaneWriter(const Site& site, ProgramBuilder& builder, std::int64_t lanes, bool stacks)
      : site_(site), b_(builder), lanes_(lanes), stacks_(stacks) {}

  // The output of a node for these inputs (nullptr: absent); nullopt: lanes would mix, or their axes are
  // unknown.
  std::optional<LaneOperand> write(const Node& node, const std::vector<LaneOperand*>& inputs);
  // The value with its lanes there; nullopt: more than one extent has a name and changes its place.
  std::optional<Value> in(LaneOperand& operand, LaneLayout layout);
  std::optional<std::vector<Value>> lanes_of(LaneOperand& operand);

 private:
  struct Input {
    std::optional<LaneLayout> layout = {};   // of one with lanes
    std::size_t ones = 0;                    // axes of one element behind the lanes
    std::optional<std::size_t> opened = {};  // of one that is shared: an axis of one element put in
    std::optional<std::vector<std::int64_t>> integers = {};  // other numbers in its place
  };
  struct Plan {
    Node node;
    std::vector<Input> inputs;
    LaneLayout made = {};
    double effort = 0;
  };
  Dims stacked(const Dims& shape, LaneLayout layout) const;
  bool is_turn_free(const LaneOperand& operand, std::size_t from, std::size_t to) const;
  double effort(const LaneOperand& operand, LaneLayout layout) const;
  double least_effort(const std::vector<LaneOperand*>& inputs) const;
  std::optional<Value> reshaped(Value value, const Dims& from, const Dims& to);
  std::optional<Value> stacked_anew(LaneOperand& operand, LaneLayout layout);

  struct Called {
    Formula formula;
    Dims shape;
    ElementType type;
  };
  std::optional<Called> called(const Node& node, const std::vector<std::optional<Dims>>& shapes,
                               const std::vector<LaneOperand*>& inputs, const std::vector<Input>& how) const;
  bool settle(Plan& plan, const std::vector<LaneOperand*>& inputs, const Dims& made) const;
  void consider_folded(const Node& node, const std::vector<LaneOperand*>& inputs, const Dims& made,
                       std::optional<Plan>& best) const;
  void consider_stacked(const Node& node, const std::vector<LaneOperand*>& inputs, const Dims& made,
                        std::optional<Plan>& best) const;
  void consider_groups(const Node& node, const std::vector<LaneOperand*>& inputs,
                       std::optional<Plan>& best) const;
  std::optional<Plan> best_plan(const Node& node, const std::vector<LaneOperand*>& inputs,
                                const Dims& made) const;
  std::optional<LaneOperand> carry_out(const Plan& plan, const std::vector<LaneOperand*>& inputs, Dims shape,
                                       ElementType type);
  std::optional<LaneOperand> product_and_sum(const Node& gemm, const std::vector<LaneOperand*>& inputs);

  const Site& site_;
  ProgramBuilder& b_;
  std::int64_t lanes_;
  bool stacks_;
};

}  // namespace isomer
