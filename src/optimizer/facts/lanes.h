// The fact: families of equal computations on several inputs. A family has lanes; a row has the values that
// correspond, one of each lane: made by the same operator with the same attributes, from rows again. Where
// rows begin, lanes read parts of one value, constants, the same value, or values that have nothing in
// common.
//
// Families are seen from where they end (a Concat, a sum: the lanes walked back together) and from products
// with the same weights (walked on together). Derived once for a graph. Not here: how lanes become a batch
// (optimizer/propose/lanes/batch.cpp).
#pragma once

#include <optional>
#include <vector>

#include "optimizer/facts/site.h"

namespace isomer {

// Lane k of a row has the positions begin + k·each, ..., begin + (k+1)·each - 1 of one value along an axis.
struct LanePart {
  Value whole;
  std::size_t axis = 0;
  std::int64_t begin = 0, each = 1;
  bool is_dropped = false;  // each is 1, and the lane has no such axis
};

struct LaneRow {
  enum class Kind : std::uint8_t { Shared, Parts, Values, Nodes };
  Kind kind = Kind::Values;
  std::vector<Value> values;             // per lane; Shared: of lane 0, and the same in all
  std::optional<LanePart> part = {};     // Parts
  std::vector<std::size_t> inputs = {};  // Nodes: rows; kNoRow where an input is absent
  static constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);
};

// A node that reads one value of every lane.
struct LaneJoin {
  Value value;
  std::string op;                              // Concat, Sum, Mean, Max, Min
  std::int64_t axis = 0;                       // Concat
  std::vector<Value> before = {}, after = {};  // what else is joined
};

struct LaneFamily {
  std::size_t lanes = 0;
  std::vector<LaneRow> rows;  // a row after those that it reads
  // Rows of which values are read elsewhere, but for the join; the join reads the last row.
  std::vector<std::size_t> ends;
  std::optional<LaneJoin> join = {};
};

std::vector<LaneFamily> lane_families(const Site& site);

}  // namespace isomer
