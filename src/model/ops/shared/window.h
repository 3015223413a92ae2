// Sliding windows: what Conv, ConvTranspose and the pools share. Strides, dilations, pads and auto_pad are
// read here and nowhere else.
#pragma once

#include "model/ops/shared/define.h"

namespace isomer {

struct Window {
  Dims kernel, output;  // extents per spatial dimension
  std::vector<std::int64_t> strides, dilations;
  Dims pad_begin, pad_end;        // symbolic under auto_pad SAME with symbolic sizes
  bool overhangs = false;         // ceil_mode: the last window may reach past the padded input
  Dim span(std::size_t i) const;  // the extent of input that one window spans
  // Where in the input the window of output position p has its tap k, in spatial dimension i.
  Index position(std::size_t i, const Index& p, const Index& k) const;
};

// The window of a call over spatial extents. `ceil_mode` and everything else is read from the call's
// attributes, as its opset means them. Throws IllegalCall that names the attribute, or OpaqueCall.
Window read_window(const Call& call, const Dims& spatial, const Dims& kernel);
// The same for ConvTranspose, with output_padding and output_shape; input and output have exchanged their
// roles.
Window read_transposed_window(const Call& call, const Dims& spatial, const Dims& kernel);

// The spatial extents of a tensor of shape [N, C, ...], and such a shape.
Dims spatial_extents(const Dims& shape);
Dims image_shape(const Dim& batch, const Dim& channels, const Dims& spatial);

}  // namespace isomer
