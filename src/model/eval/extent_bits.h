// The largest value that a named extent may have.
#pragma once

namespace isomer {

// An axis has at most 2^40 elements, a terabyte of single bytes, and so has a tensor.
inline constexpr int kExtentBits = 40;

}  // namespace isomer
