// The checker: does this certificate turn IN into OUT by proved steps? It searches nothing and believes
// nothing: regions, shapes, types and folded values are taken from IN, every step is proved again by both
// witnesses, with a key of its own, and the end is compared with OUT, constants included.
#pragma once

#include <optional>
#include <string>

#include "certify/certificate.h"

namespace isomer {

struct CheckReport {
  bool accepted = false;
  std::optional<int> step;  // that was rejected
  std::string reason;
  int steps = 0;
  int widened = 0;                          // values that are computed in float32 now: rounded less
  std::optional<PairedReport> paired = {};  // where the end is equal, not the same
};

CheckReport check_certificate(const Graph& in, const Graph& out, const Certificate& certificate,
                              std::uint64_t key);

}  // namespace isomer
