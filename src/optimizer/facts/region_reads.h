// Which elements of a linear region's input an element of its output reads: the reads of all of its formulas
// composed, as indices over the output's axes and the summed axes. For named extents too.
//
// It covers weights only by the positions at which they differ; the prover decides whether a form that is
// derived here is true.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "optimizer/facts/linear_region.h"

namespace isomer {

struct RegionReads {
  std::vector<Axis> axes;                 // of the output, in order
  std::vector<std::vector<Index>> reads;  // of the input, each once
  std::vector<Index> weighted;  // where constants are read, conditions tested, positions used as numbers
};
// nullopt: an extent or a formula is not known, or there are too many reads.
std::optional<RegionReads> reads_of(const Graph& graph, const Inference& inference,
                                    const LinearRegion& region);

// How an axis of the input takes part, over all reads together.
struct InputAxis {
  enum class Kind : std::uint8_t {
    Parallel,  // follows one digit of the output and nothing else
    Window,    // stride · digit + low ... stride · digit + high
    Full,      // anything else: each output may see all of it
  } kind = Kind::Full;
  int digit = -1;                                            // of Parallel and Window
  bool weighted = false;                                     // the weights differ along the digit
  std::int64_t stride = 1, low = 0, high = 0, dilation = 1;  // of Window: low, low + dilation, ..., high
  Dim extent = {};
};

// A part of an axis of the output: axis = Σ stride · digit, as a Reshape would split it.
struct OutputDigit {
  std::size_t axis = 0;
  Dim extent = {};
  bool weighted = false;
};

struct RegionMap {
  std::vector<InputAxis> inputs;     // per axis of the region's input
  std::vector<OutputDigit> outputs;  // in order: the output's shape, some axes split
};
// nullopt: as `reads_of`, or an axis of the output is not split by whole digits.
std::optional<RegionMap> map_of(const Graph& graph, const Inference& inference, const LinearRegion& region);

}  // namespace isomer
