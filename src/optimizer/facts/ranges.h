// Ranges: for each value of a graph an interval that holds all of its elements, for any input: a softmax lies
// in [0, 1], a relu is not negative, a constant lies between its smallest and its largest element.
//
// One evaluation of the formulas with intervals, for all operators at once and for all sizes. Untrusted: it
// only supports proposals.
#pragma once

#include <limits>
#include <map>
#include <vector>

#include "model/expr/formula.h"
#include "optimizer/facts/site.h"

namespace isomer {

struct ValueRange {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  static ValueRange of(double value) { return {value, value}; }
  bool is_point() const { return low == high; }
  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

// The range of an expression of a formula, if its inputs lie in these. An unsupported one: unbounded.
ValueRange interval_of(const Formula& formula, const ExprNode& e, const std::vector<ValueRange>& inputs);

// The range of a node's output: by its formula, and a value times itself is not negative.
ValueRange range_of(const Node& node, const Formula& formula, const std::vector<ValueRange>& inputs);

// The input that the output is the same as, element by element, for inputs in these intervals.
std::optional<int> same_as_input(const Formula& formula, const std::vector<ValueRange>& inputs);

class Ranges {
 public:
  explicit Ranges(const Site& site);
  ValueRange of(Value v) const;
  std::vector<ValueRange> inputs_of(const Node& node) const;

 private:
  std::map<Value, ValueRange> known_;  // what is not here lies anywhere
};

}  // namespace isomer
