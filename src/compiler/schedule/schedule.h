// A schedule: how the loops of one nest run, as lines of text.
//
//   split NAME BY       NAME becomes NAME.o (outside) and NAME.i (inside, BY long)
//   fuse A B            loops that follow each other become one, A.B
//   reorder A B ...     these loops, in the places that they have, in this order
//   unroll NAME | vectorize NAME
//   parallel NAME       threads divide this loop, and the outermost ones that are parallel as one
//   compute_at NEST ROWS    what a nest writes, and all between, is computed where NEST needs it: in
//                           strips of ROWS rows of NEST
//   pack xK COLUMNS         the right factor of the product, in panels of COLUMNS columns; without xK: the
//                           factor that Isomer chooses
//   tensorize               the product onto the kernel of tiles; tensorize F(4,3), F(2,3): onto Winograd's
//   block ROWS, group PANELS, pieces DEPTH    after tensorize: what a tile's loops go by; 0 pieces: in one go
//   tiles COUNT             after tensorize F: tiles that are transformed and multiplied together
//   parallel rows           after tensorize: threads divide rows of tiles; parallel columns: their columns
//   keep                    Isomer chooses everything that these lines leave open, as for unnamed nests
//
// Loops begin as i0, i1, ... (axes of the tensor) and r0, r1, ... (axes that are summed over). Schedules
// are untrusted: legality.h checks that the result computes the formula.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/loops/compose.h"
#include "compiler/loops/nest.h"

namespace isomer::lower {

// The nest with its own loops changed by a line. Error: what is wrong with the line.
Status apply_schedule(Nest& nest, std::string_view line, AxisNumbers& numbers);

// Lines by the name of a nest. A text of parts "nest NAME" followed by lines; # begins a comment.
using Schedules = std::map<std::string, std::vector<std::string>, std::less<>>;
Result<Schedules> parse_schedules(std::string_view text);

// The settings of tiles and of strips, which are not about single loops.
struct TileRequest {
  int right = -1;                                // the buffer that is packed; -1: any
  std::int64_t columns = 0;                      // of a panel; 0: any number
  std::optional<std::int64_t> winograd = {};     // outputs of a tile
  std::int64_t block = 0, group = 0, tiles = 0;  // 0: as it is chosen
  std::optional<std::int64_t> pieces = {};
  Tile::Shared shared = Tile::Shared::None;
};
struct StripRequest {
  std::string nest;
  std::int64_t rows = 0;
};
Result<std::optional<TileRequest>> tile_request(const std::vector<std::string>& lines);
Result<std::optional<StripRequest>> strip_request(const std::vector<std::string>& lines);
// Whether they say `keep`.
bool keeps_rest(const std::vector<std::string>& lines);

// Nests that are named get plain loops, unless they are tensorized or kept, then their lines. Error: a nest
// that is not there, or a line that fails.
Status apply_schedules(Plan& plan, const Schedules& schedules, AxisNumbers& numbers);

}  // namespace isomer::lower
