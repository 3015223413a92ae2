// The kernel of a linear map of images, from its response to impulses: unit vectors of channels, each at one
// place of an image that is so far from the borders that all taps read it, once for each phase of the stride.
//
//   y[n, o, p] = Σ x[n, c, stride·p - pad + dilation·u] · K[o, c, u]
#pragma once

#include <optional>
#include <vector>

#include "model/graph/program_builder.h"

namespace isomer {

struct Impulses {
  std::int64_t rows = 0, groups = 1;  // channels of a group; groups, which are all fed at once
  Extents stride = {}, spatial = {};  // of the map; of the images
  Extents place = {};                 // of the first phase's impulse

  std::int64_t channels() const { return rows * groups; }
  std::int64_t phases() const;
  Extents place_of(std::int64_t phase) const;
};

// [phases·rows, channels, spatial...].
Value impulse_images(ProgramBuilder& b, const Impulses& impulses);

// The middle of a response to zeros, of these extents, which padding does not reach.
Value middle_of(ProgramBuilder& b, Value answer, const Extents& extents);

// The kernel [outputs, rows, taps...] out of the answer to the images, of these extents; nullopt: a tap sees
// no impulse.
std::optional<Value> kernel_from(ProgramBuilder& b, const Impulses& impulses, Value answer,
                                 const Extents& extents, const Extents& taps, const Extents& pad_begin,
                                 const Extents& dilation);

}  // namespace isomer
