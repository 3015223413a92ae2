// Facts derived from a formula without running it: cost, axis roles, linearity, zero-preservation, needed
// regions.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "model/expr/formula.h"

namespace isomer {

// Scalar operations and bytes of inputs and outputs, each read or written once. Moving data costs no
// operation.
struct Cost {
  Dim operations;
  Dim bytes;
};
Cost cost(const Formula& formula);

// How an axis of an input takes part.
enum class AxisRole : std::uint8_t {
  Parallel,  // indexed by one axis of the output, one to one, whose position counts for nothing else
  Reduced,   // runs under a reduction
  Window,    // output and reduction together (convolutions, pools), or a strided or shifted output axis
  Fixed,     // one coordinate, whatever the position
  Mixed,  // anything else: floor and mod, several output axes, data-dependent, different in different reads,
          // an output axis whose position a condition or a number depends on
};
struct InputRoles {
  std::vector<AxisRole> axes;    // per axis of the input
  std::vector<int> output_axis;  // per axis of the input: the output's axis it follows, or -1
  std::vector<int> broadcast;    // axes of the output that this input does not see
};
// Per input, for one output.
std::vector<InputRoles> axis_roles(const Formula& formula, int output);

enum class Linearity : std::uint8_t { Independent, Linear, Affine, Nonlinear };
// How an output depends on one input, the others fixed: Linear means f(a·x + b·y) = a·f(x) + b·f(y).
Linearity linearity(const Formula& formula, int output, int input);
// The same for several inputs together: a sum is linear in both of its operands, a product in one at a time.
Linearity linearity(const Formula& formula, int output, const std::set<int>& inputs);
// Whether the output is zero everywhere if all inputs are zero everywhere.
bool preserves_zero(const Formula& formula, int output);

// A box of positions, low <= p < high per axis. Concrete extents only.
struct Box {
  Extents low, high;
  bool empty() const;
  friend bool operator==(const Box&, const Box&) = default;
};
// Per input, a box that holds every element which the given box of an output reads; nullopt: none is read.
std::vector<std::optional<Box>> needed_regions(const Formula& formula, int output, const Box& box);

// Whether a value is an input's at other coordinates.
bool moves_data(const ExprNode& value);

}  // namespace isomer
