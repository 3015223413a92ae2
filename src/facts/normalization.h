// Regions that are a normalization of one value: (x - mean) / sqrt(variance + epsilon), mean and variance
// over all axes but two, a factor and a shift along one of these two, or none. However it is spelled out:
// what it is shows in its values. Untrusted: who uses it proposes.
#pragma once

#include <optional>
#include <vector>

#include "rewrite/site.h"

namespace isomer {

struct Normalization {
  Value input, output;
  std::vector<NodeId> nodes;
  std::size_t batch = 0, channel = 1;  // the two axes
  float epsilon = 0;
  Value scale = Value::none(), shift = Value::none();  // constants along the channels; none: 1 and 0
};

// The normalization that ends in this value; nullopt: there is none, or its sizes are not known.
std::optional<Normalization> normalization_at(const Site& site, Value output);

}  // namespace isomer
