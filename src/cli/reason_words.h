// Why something was not proved, for people: what the prover says speaks of its own insides.
#pragma once

#include <string>
#include <string_view>

namespace isomer::cli {

// "output y: undecided: nothing is known of v52" -> "output y: v52 has no definition here, or no known size".
// Sets of points are left out; --trace and --json have the reason as it is.
std::string plain_reason(std::string_view why);

}  // namespace isomer::cli
