// A call that sums products of an activation with a constant, by any operator: MatMul, Gemm, Conv,
// ConvTranspose, Einsum. Derived from its formula: the role of each axis of the constant.
#pragma once

#include <optional>
#include <vector>

#include "optimizer/facts/site.h"

namespace isomer {

struct ProductSum {
  enum class Kind : std::uint8_t {
    Unit,        // one element
    Free,        // an axis of the output that the activation doesn't have
    Contracted,  // summed, together with an axis of the activation
    Window,      // summed, and with an axis of the output it says where the activation is read
    Other,
  };
  struct AxisUse {
    Kind kind = Kind::Other;
    int x = -1, y = -1;  // axes of the activation and of the output
  };

  NodeId id;
  Value x, constant;
  std::vector<AxisUse> axes;  // of the constant
  Extents sizes;              // of the constant
  std::size_t rank = 0;       // of the output
  // The added value, and its axis in the output, if it isn't broadcast from the end.
  Value bias = Value::none();
  std::optional<int> bias_axis = {};

  // The only axis of this kind; nullopt: there are none or several.
  std::optional<std::size_t> only(Kind kind) const;
  // Whether it is a matrix along one axis of the activation, which it replaces, while all other axes stay.
  bool is_matrix = false;
};

// nullopt: it is none, or it has scales of its own.
std::optional<ProductSum> product_sum_at(const Site& site, NodeId id);

}  // namespace isomer
