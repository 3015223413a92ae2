// One nest as a C++ function. Internal to emit.cpp.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/loops/nest.h"

namespace isomer::lower {

std::string c_type(ElementType type);       // that an element is computed in
std::string stored_type(ElementType type);  // that it has in memory

// Statements of a nest. A value is computed in the outermost block in which all that it depends on is known,
// and once, however often the expression mentions it.
class NestWriter {
 public:
  NestWriter(const Plan& plan, const Nest& nest) : plan_(plan), nest_(nest) {}

  std::string body();                                           // of the function
  const std::vector<int>& buffers() const { return buffers_; }  // its pointers p0, p1, ..., in order
  bool may_fail() const { return may_fail_; }
  // What threads divide: how many parts there are, as C++, and what their numbers are multiples of. `rows`:
  // of a strip, how many.
  std::string units(const std::string& rows) const;
  std::int64_t grain() const;

 private:
  struct Block {
    std::string head = {};  // what opens it; whatever is said of the block around comes before
    std::string text = {};
    std::set<int> axes = {};                   // defined here
    std::vector<const ExprNode*> values = {};  // computed here
  };

  void plain();
  void reduced();
  void tiled();
  void by_intrinsic();
  bool ends_in_vectors(const ExprNode& e);
  bool is_along_columns(int buffer, const std::vector<Index>& at);
  std::string in_vectors(const ExprNode& e, std::unordered_map<const ExprNode*, std::string>& known);
  void end_in_vectors();
  void winograd();

  bool in_strips(const Axis& axis) const { return nest_.strip && nest_.strip->rows == axis; }
  // Axes that have more than one position, as far as one knows here.
  std::vector<Axis> long_axes(const std::vector<Axis>& axes) const;
  std::vector<Axis> tile_axes() const;
  std::string length(const Axis& axis, const std::string& rows) const;
  std::string product(const std::vector<Axis>& axes, const std::string& rows) const;
  std::size_t open_shared(const std::vector<Axis>& axes);
  std::size_t open_loops(const std::vector<Loop>& loops);
  std::size_t open_shared_around(const std::vector<Axis>& axes, const std::string& inner);
  void define_shared(const std::vector<Axis>& axes, std::string number);
  void open_loop(const Axis& axis, const std::string& from, const std::string& to,
                 const std::string& pragma = {});
  std::size_t open_axis(const Axis& axis);
  void open(const std::string& head);
  void close();
  void say(const std::string& line) { blocks_.back().text += indent() + line + '\n'; }
  std::string indent() const { return std::string(2 * blocks_.size(), ' '); }
  bool is_extremum_along(const std::vector<Loop>& inner) const;
  void extremum(const std::vector<Loop>& outer, const std::vector<Loop>& inner);
  static std::string pragma_of(const Loop& loop);
  std::string vector_value(const ExprNode& e, const Axis& lane);
  void skip_outside(const ExprNode& reduction, std::size_t first, std::size_t end);
  std::string holds_here(const Domain& domain);
  std::optional<Axis> axis_along(const Axis& lane) const;
  bool goes_along(int buffer, const std::vector<Index>& at, const Axis& lane) const;
  bool ends_in_lanes(const ExprNode& e, const Axis& lane);
  void define_axes(bool with_reduced);
  void define_axis(const Axis& axis, const std::string& value);
  void store(const std::string& value);

  std::string name_of(const Axis& axis);
  std::string pointer(int buffer);
  std::string text(const Index& index);
  std::string holds(const Domain& domain);
  std::string at_least_zero(const Index& index);
  Index address(int buffer, const std::vector<Index>& at) const;
  std::string load(int buffer, const std::string& address, ElementType type);

  const std::set<int>& axes_of(const ExprNode& e);
  std::size_t block_for(const std::set<int>& axes) const;
  std::string value(const ExprRef& e);
  std::string number(const ExprNode& e) const;
  Domain asked_of(const ExprNode& e) const;
  std::string read(const ExprNode& e);
  std::string apply(const ExprNode& e);
  std::string cast(const ExprNode& e);
  std::string choice(const ExprNode& e);
  std::string reduce(const ExprNode& e);
  std::string look_up(const ExprNode& e);
  std::string define(const ExprNode& e, const std::string& value);
  static std::string combine(Reduction reduction, const std::string& a, const std::string& b);
  static std::string start(const ExprNode& e);

  const Plan& plan_;
  const Nest& nest_;
  std::vector<Block> blocks_;
  std::vector<int> buffers_;
  std::map<int, std::string> axis_names_;
  std::unordered_map<const ExprNode*, std::string> values_;
  std::unordered_map<const ExprNode*, std::set<int>> axes_;
  std::set<std::string> known_;                             // conditions that hold in the loops of a sum
  std::unordered_map<const ExprNode*, std::string> bound_;  // a reduction that is computed already
  int next_ = 0;
  bool may_fail_ = false;
};

}  // namespace isomer::lower
