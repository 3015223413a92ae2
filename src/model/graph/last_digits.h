// Where the last digits of a number decide. As a real number 10 times the float nearest to 0.1 is more than
// 1; in float32 the product is 1. For a sum that is one more rounding; for Ceil it is 2 against 1.
//
// So code that computes ahead of a runtime evaluates nodes that jump, or narrow a float, in the arithmetic of
// the stored types, operator by operator; and does not evaluate them where runtimes need not agree on these
// digits.
#pragma once

#include <optional>
#include <vector>

#include "model/eval/program.h"
#include "model/graph/graph.h"

namespace isomer {

// Which parts of a formula depend on some of its inputs (one flag each), by way of its stages, too.
class Dependence {
 public:
  Dependence(const Formula& formula, std::vector<bool> inputs);
  bool of(const ExprNode& part) const;

 private:
  std::vector<bool> inputs_, stages_;
};

// Whether small changes of these inputs (one flag each) make small changes of the outputs, wherever it is
// defined.
bool is_continuous(const Formula& formula, const Node& node, const std::vector<bool>& changed);
bool is_continuous(const Formula& formula, const Node& node);  // in all of its floats

// Whether it divides by what these inputs make, or takes a root, a logarithm or a power of it: where that is
// nearly 0, a small change of them is a large one of the output.
bool is_steep_near_zero(const Formula& formula, const std::vector<bool>& changed);

// Whether a float becomes a narrower one in it.
bool narrows(const Formula& formula);

// Whether all runtimes compute the same digits: at most one rounding operation, as in IEEE 754, and not in 16
// bits, where runtimes combine several operations.
bool has_agreed_digits(const Formula& formula);

// Whether other last digits of the inputs that are flagged would make an output jump.
bool last_digits_decide(const Program& program, const std::vector<std::optional<Tensor>>& inputs,
                        const std::vector<bool>& flagged, const std::vector<Tensor>& outputs);

}  // namespace isomer
