// --precision bf16: products whose weights are rounded to bfloat16, called NOT EQUAL. Weights lie in pairs,
// two steps of the sum beside each other: [..., depth, lane] becomes [..., depth / 2, lane, 2], with zeros up
// to a depth that is a multiple of 32, as tile registers (AMX) want them. Only this file, emit_bfloat16.h and
// kernels/bfloat16.h know of it; a tile is of this kind if its right factor is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/loops/nest.h"

namespace isomer::lower {

inline constexpr std::int64_t kPairedRows = 16;  // of a tile

bool is_paired(const Storage& packed);
std::int64_t paired_depth(std::int64_t depth);
Dims paired_extents(Dims packed);

struct PairedSizes {
  std::int64_t width = 0, group = 0;  // as in Tile
};
// nullopt: the product stays in float32. `depth`: outermost first; `step`: of the left factor, along the last
// of them.
std::optional<PairedSizes> choose_pairs(const std::vector<Axis>& depth, std::int64_t step, bool is_one_row,
                                        std::int64_t columns);

// Packed weights of float32, rounded and in pairs.
Storage to_pairs(Storage packed);

// The fault of a tile of pairs; nullopt: none. `step`: as above.
std::optional<std::string> illegal_pairs(const Tile& tile, const Dim& step);

}  // namespace isomer::lower
