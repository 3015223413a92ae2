// The parts of a nest that threads divide: its function computes the parts from low to high, and, for a nest
// that goes strip by strip, rows from `from` to `to`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/emit/nest_writer.h"
#include "compiler/loops/nest.h"

namespace isomer::lower {

bool in_strips(const Nest& nest, const Axis& axis);  // it is the axis of strips

// A number as C++, where that stands.
using DimText = std::function<std::string(const Dim&)>;
// The number of parts, as C++. `rows`: of a strip, how many there are.
std::string part_count(const Plan& plan, const Nest& nest, const std::string& rows, const DimText& text);
// The number of tiles of rows at one position of all else.
std::string row_tiles(const Plan& plan, const Tile& tile, const DimText& text);
// The divisor of all numbers of parts.
std::int64_t part_grain(const Nest& nest);

// Each opens loops over parts, and answers how many blocks it opened.
// Over loops of the nest, of which the outermost may be parallel.
std::size_t open_loops(NestWriter& out, const std::vector<Loop>& loops);
// Over positions of these axes and something inside that is `inner` long, of which x_from to x_to is to do.
std::size_t open_parts_around(NestWriter& out, const std::vector<Axis>& axes, const std::string& inner);

}  // namespace isomer::lower
