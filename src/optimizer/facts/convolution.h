// A convolution with constant weights, with ONNX's defaults for absent attributes.
#pragma once

#include <optional>

#include "optimizer/facts/site.h"

namespace isomer {

struct Convolution {
  NodeId id;
  Value x, weights, bias = Value::none();
  Extents w, kernel, strides, dilations, pads;  // w: extents of the weights; pads: begins, then ends
  std::int64_t channels = 0, groups = 1;        // channels: of the output
};

// nullopt: it is none, its weights or bias are computed, its weights' extents are not known, or it leaves its
// pads to the runtime.
std::optional<Convolution> convolution_at(const Site& site, NodeId id);

Attributes attributes_of(const Convolution& c);

}  // namespace isomer
