// Parts of fastpath that have files of their own.
#pragma once

#include "optimizer/facts/site.h"

namespace isomer {

// Convolutions in one dimension, and all that lies between them, in two.
void propose_lift(const Site& site, Proposals& out);
// Convolutions in three dimensions as ones in two.
void propose_flatten(const Site& site, Proposals& out);
// Channels filled up with zeros to the width of the runtime's blocked layout.
void propose_padded_channels(const Site& site, Proposals& out);
// Products along the last axis between two transpositions, as convolutions without them.
void propose_channels_first(const Site& site, Proposals& out);
// Steps of an LSTM that were written out, as the operator.
void propose_recurrence(const Site& site, Proposals& out);
// Sums of two activations that a normalization reads, in a form that the runtime does not fuse with it.
void propose_residuals(const Site& site, Proposals& out);

// Channels of a convolution of quantised numbers filled up with zero points to a multiple of four.
void propose_quantized_channels(const Site& site, Proposals& out);
// Values that were just dequantised behind a Sum of them alone: what follows stays in floats.
void propose_float_borders(const Site& site, Proposals& out);
// An element-wise computation between two 8-bit values, as a look-up in a table.
void propose_quantized_tables(const Site& site, Proposals& out);

// Channels that fill blocks of the runtime's layout on any processor. Padding to 16 was the best of 4, 8 and
// 16 in the expert experiments that gain; what is blocked without it is not padded.
constexpr std::int64_t kChannelBlock = 16;

}  // namespace isomer
