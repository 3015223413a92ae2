// The layout of tensors in memory, and the nests that run tile by tile.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "compiler/loops/compose.h"
#include "compiler/loops/nest.h"
#include "compiler/schedule/schedule.h"

namespace isomer::lower {

// Why a transformation is refused where a size is open.
inline constexpr char kNeedsSizes[] = "it takes sizes that are known; --shape gives them";

// How sums of products are added up: each way rounds less than the one before, and takes longer.
enum class Exactness : std::uint8_t {
  Fast,        // convolutions by Winograd's F(4, 3) where that is faster
  ShortSums,   // the same; what is added up in one go is shorter
  SmallTiles,  // F(2, 3) in place of F(4, 3), sums as short
  Direct,      // no Winograd
  // Less exact, and only for --precision bf16 (bfloat16.h): weights of matrix products are rounded to
  // bfloat16, where the processor has tiles of them what they are multiplied with, too; sums are of floats.
  Bfloat16,
};

// Images that convolutions read or write get their channels innermost, and with them whatever they are added
// to. An input or output of the model stays as its caller has it: where a window slides over each of its
// channels by itself, which is slow in that order, it is copied.
void choose_layouts(Plan& plan, AxisNumbers& numbers);

// Chains of nests whose tensors are too large for the cache, and of which each reads a few rows of the one
// before, go strip by strip; their tensors are rings of rows. So do nests that read the same row of several
// tensors of the chain, as those of a softmax do.
struct StripLimits {
  std::int64_t worth = std::int64_t{1} << 20;    // bytes of a chain's tensors, below which it stays as it is
  std::int64_t rings = std::int64_t{512} << 10;  // bytes of its rings, which should stay in the second cache
  // The same of nests that read the same row: short rows cost more than a second cache does.
  std::int64_t worth_by_rows = std::int64_t{8} << 20;
};
// Nests that a schedule names go so if it says so. Error: they can't.
Status choose_strips(Plan& plan, const StripLimits& limits = {}, const Schedules& own = {});

// Sums of products of two reads become tiles of a matrix product: axes are merged where addresses allow, the
// right factor is packed, by the compiler if it is a weight; a left factor that is read outside of its tensor
// is copied into a larger one. A sum that fits no tile gets an order of loops.
Status schedule_nests(Plan& plan, AxisNumbers& numbers, Exactness exactness = Exactness::Fast,
                      const Schedules& own = {});

// Nests that are worth it are divided among threads: along outer loops, rows or columns of tiles. Those that
// a schedule names are divided if it says so.
void share_nests(Plan& plan, const Schedules& own = {});

// Memory of locals by their lifetimes, of weights in their file.
void place_buffers(Plan& plan);

// A buffer to place: its bytes, from one nest to another.
struct Block {
  std::int64_t bytes = 0;
  std::size_t first = 0, last = 0;
  bool lives_with(const Block& other) const { return first <= other.last && other.first <= last; }
};
std::int64_t peak(const std::vector<Block>& blocks, const std::vector<std::int64_t>& places);
// The peak of the buffers that live at the same time: a lower bound for every plan.
std::int64_t least_peak(const std::vector<Block>& blocks);
std::vector<std::int64_t> placed_greedily(const std::vector<Block>& blocks);
// A plan that no other is below; nullopt: there is no solver, or it didn't find one. `known_peak`: of a plan.
std::optional<std::vector<std::int64_t>> placed_exactly(const std::vector<Block>& blocks,
                                                        std::int64_t known_peak, double seconds);

}  // namespace isomer::lower
