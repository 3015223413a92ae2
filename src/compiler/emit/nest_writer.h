// The C++ function of one nest while it is written: open blocks, names of axes and pointers, and values. A
// value is computed in the outermost block in which all its dependences are known, and only once, however
// often it occurs in the expression. The loops of each kind of nest are in emit_nest.h.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/loops/nest.h"

namespace isomer::lower {

class NestWriter {
 public:
  NestWriter(const Plan& plan, const Nest& nest);

  const Plan& plan() const { return plan_; }
  const Nest& nest() const { return nest_; }
  const std::vector<int>& buffers() const { return buffers_; }      // its pointers p0, p1, ..., in order
  const std::vector<std::string>& sizes() const { return sizes_; }  // its open sizes s0, s1, ..., in order
  bool may_fail() const { return may_fail_; }
  std::string finish();  // all that was written; every block is closed

  // Blocks. A line goes to the innermost one.
  void say(const std::string& line) { blocks_.back().text += indent() + line + '\n'; }
  void open(const std::string& head);
  void close(const std::string& end = "}");
  void close_all(std::size_t count);
  std::string indent() const { return std::string(2 * blocks_.size(), ' '); }
  std::size_t block_count() const { return blocks_.size(); }
  // The innermost of the blocks that define one of these axes, and a line at its end.
  std::size_t block_of(const std::set<int>& axes) const;
  void say_in(std::size_t block, const std::string& line);

  // Axes. For rows that go strip by strip, the function has the parameters from and to.
  void open_loop(const Axis& axis, const std::string& from, const std::string& to,
                 const std::string& pragma = {});
  void open_loop(const Loop& loop);
  // A loop n over elements of the target along an axis: by vectors where they lie next to each other.
  void open_elements(const Axis& axis, const std::string& count);
  // A loop over all of an axis, unless it has one element; the number of blocks that were opened.
  std::size_t open_axis(const Axis& axis);
  void define_axis(const Axis& axis, const std::string& value);
  // The formula's axes, where loops are something else.
  void define_axes(bool with_reduced);
  void note_axis(const Axis& axis) { blocks_.back().axes.insert(axis.id); }  // defined by what was said
  std::string name_of(const Axis& axis);
  void set_name(const Axis& axis, const std::string& name) { axis_names_[axis.id] = name; }

  // Positions.
  std::string pointer(int buffer);
  std::string text(const Index& index);
  std::string text(const Dim& dim);               // over the function's parameters s0, s1, ...
  std::string factor_text(const Dim& dim);        // the same, in brackets if it has several terms
  std::string at_least_zero(const Index& index);  // "": always
  std::string holds(const Domain& domain);        // "": always
  Index address(int buffer, const std::vector<Index>& at) const;
  // The conditions of a read that are needed to keep it inside its tensor.
  Domain asked_of(const ExprNode& read) const;

  // Values.
  std::string value(const ExprRef& e);
  std::string make_name(char letter);
  // A reduction that is computed already, as text.
  void bind(const ExprRef& reduction, const std::string& text) { bound_[reduction.get()] = text; }
  const std::string* bound(const ExprNode& e) const;
  void store(const std::string& value);  // into the target
  void store_value() { store(value(nest_.value.ref())); }

 private:
  struct Block {
    std::string head = {};  // what opens it; whatever is said of the block around comes before
    std::string text = {};
    std::set<int> axes = {};                   // defined here
    std::vector<const ExprNode*> values = {};  // computed here
  };

  std::string load(int buffer, const std::string& address, ElementType type);
  const std::set<int>& axes_of(const ExprNode& e);
  std::string compute(const ExprNode& e);
  std::string define(const ExprNode& e, const std::string& value);
  std::string read(const ExprNode& e);
  std::string apply(const ExprNode& e);
  std::string choose(const ExprNode& e);
  std::string reduce(const ExprNode& e);
  std::string look_up(const ExprNode& e);

  const Plan& plan_;
  const Nest& nest_;
  std::vector<Block> blocks_;
  std::vector<int> buffers_;
  std::vector<std::string> sizes_;
  std::vector<std::string> quotients_;  // of sizes, q0, q1, ...: computed once, where the function begins
  std::map<int, std::string> axis_names_;
  std::unordered_map<const ExprNode*, std::string> values_;
  std::unordered_map<const ExprNode*, std::set<int>> axes_;
  std::unordered_map<const ExprNode*, std::string> bound_;
  int next_ = 0;
  bool may_fail_ = false;
};

}  // namespace isomer::lower
