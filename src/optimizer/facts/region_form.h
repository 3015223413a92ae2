// The forms that runtimes have for a linear map (convolution, matrix product, scaling), and which of them a
// region's reads allow: which axes are batch, groups, channels and windows, in the input and in the output.
#pragma once

#include <vector>

#include "optimizer/facts/region_reads.h"

namespace isomer {

// taps stride·p + low + dilation·u, u < taps; begin and end are what a convolution has to pad.
struct FormWindow {
  std::int64_t stride = 1, low = 0, taps = 1, dilation = 1, begin = 0, end = 0;
  bool weighted = false;  // something differs along it: a border, or it is no window
  std::int64_t span() const { return dilation * (taps - 1) + 1; }
};

// A part of an axis, as a Reshape would split it.
struct FormDigit {
  enum class Role : std::uint8_t { Batch, Group, Channel, Window } role = Role::Batch;
  std::size_t axis = 0;
  Dim extent = {};
  int other = -1;  // the digit of the other side that it is, but for channels; of a window: of the other side
};

struct RegionForm {
  enum class Kind : std::uint8_t { Convolution, Product, Scaling } kind = Kind::Product;
  std::vector<FormDigit> input, output;  // in the order of the axes
  std::vector<FormWindow> windows;       // in the order of the input's

  std::vector<std::size_t> input_digits(FormDigit::Role role) const;
  // In the order of the input's, or for channels in their own.
  std::vector<std::size_t> output_digits(FormDigit::Role role) const;
};

// Forms to try, the most likely first.
std::vector<RegionForm> forms_of(const RegionMap& map);

}  // namespace isomer
