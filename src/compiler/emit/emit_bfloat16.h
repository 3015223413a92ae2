// --precision bf16: the C++ of a tile whose weights are pairs of bfloat16 (schedule/bfloat16.h); it calls
// kernels/bfloat16.h. Internal to emit_tile.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/loops/nest.h"

namespace isomer::lower {

// By which kernels know how many rows a tile has.
std::string tile_rows_kind(const Plan& plan, const Tile& tile);

class PairedTileText {
 public:
  // nullopt: its weights are of float32.
  static std::optional<PairedTileText> of(const Plan& plan, const Tile& tile);

  // Declares memory for a rounded block of rows; "": one row is not rounded.
  std::string memory() const;
  // Rounds a block of rows.
  std::vector<std::string> round_rows() const;
  // The products of a panel, of which the first `columns` are needed. `end`: ", end_of", or "".
  std::string call(std::int64_t columns, const std::string& panel, const std::string& end) const;

 private:
  std::int64_t width_ = 0;
  std::int64_t halves_ = 0;  // numbers of a rounded block of rows; 0: it is not rounded
};

}  // namespace isomer::lower
