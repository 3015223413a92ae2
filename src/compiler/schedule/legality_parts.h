// Shared parts of legality.h. Internal to them.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/loops/nest.h"
#include "kernel/normal/sets.h"

namespace isomer::lower {

using Wrong = std::optional<std::string>;

inline constexpr std::uint64_t kMostOperations = 2'000'000;  // of isl, for one question

Dims extents_of(const std::vector<Axis>& axes);
// The axes of a nest, then those that it sums over.
std::vector<Axis> axes_of(const Nest& nest);
// Whether they are the same but for axes of one position.
bool are_same_axes(std::vector<Axis> a, std::vector<Axis> b);
// Whether a number is above another one at every size.
bool is_above(const Dim& a, const Dim& b, const Sizes& sizes);
// The space of a plan's open sizes, within their bounds.
SetSpace space_of(const Plan& plan);
// From positions of axes to where an access goes.
Relation access(const SetSpace& space, const std::vector<Axis>& axes, const std::vector<Index>& at,
                const Domain& domain);
// Buffers. A kernel reads its own copy of the right factor, and not what the formula calls it.
std::set<int> read_by(const Nest& nest);

// One nest, as its instances run: by loops, by tiles, by Winograd's, by a kernel of the user's own.
Wrong wrong_loops(const Nest& nest, const SetSpace& space);
Wrong wrong_tile(const Plan& plan, const Nest& nest, const SetSpace& space);
Wrong wrong_winograd(const Plan& plan, const Nest& nest);
Wrong wrong_call(const Plan& plan, const Nest& nest, const SetSpace& space);
// Two concurrent threads write different positions, and different places of a ring; scratch memory belongs to
// one thread.
Wrong wrong_threads(const Plan& plan, const Nest& nest, const SetSpace& space);
// Rows are a loop of their own, of which strips take all, one after the other.
Wrong wrong_strip(const Nest& nest);

// Whether a nest may use tensors of which each thread has its own: wrong_strips sees that all of its group
// do.
bool has_own_tensors(const Nest& nest);
// All groups of nests that run strip by strip, and their rings.
Wrong wrong_strips(const Plan& plan);
// One of them, where sizes are open.
Wrong wrong_open_strips(const Plan& plan, std::size_t first, const SetSpace& space);
// Whether rows that threads write at the same time share a place of a ring.
bool share_places(const Strip& strip, std::int64_t ring, const SetSpace& space);

}  // namespace isomer::lower
