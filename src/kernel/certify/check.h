// The checker: does this certificate turn IN into OUT by proved steps? It searches nothing and trusts
// nothing. Regions, shapes, types and folded values are taken from IN; both witnesses prove every step again;
// the end is compared with OUT, constants included. No state passes from one step to the next: no cache, no
// global.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernel/certify/certificate.h"

namespace isomer {

struct CheckReport {
  bool accepted = false;
  std::optional<int> step;  // that was rejected
  std::string reason;
  int steps = 0;
  int widened = 0;                          // values that are computed in float32 now: rounded less
  std::uint64_t flushed = 0;                // denormal numbers of constants that are zero in OUT
  int last_bits = 0;                        // folded constants that differ from OUT's in their last bit
  int sizes_from = 0;                       // open sizes of inputs are taken to be at least this
  std::vector<std::string> assumed = {};    // operators that it takes as their user states them
  std::optional<PairedReport> paired = {};  // where the end is equal, not the same

  // Constants of OUT that are equal to what IN computes but for rounding.
  int rounded_constants() const {
    return last_bits + (paired ? paired->constants_rounded + paired->constants_restated : 0);
  }
};

// `key`: of the second witness, which can only refuse. A certificate that takes more of IN's sizes for
// granted than IN's user does (Graph::sizes_from) is refused.
CheckReport check_certificate(const Graph& in, const Graph& out, const Certificate& certificate,
                              std::uint64_t key);

}  // namespace isomer
