// A plan: a region, and steps that were proved for it. It is text and untrusted: a region that
// is not what its key says is no plan, and a step is proved again wherever it is taken.
//
//   {"isomer_plan": 1, "key": "<32 digits>", "region": "<program in base64>", "constants": {"w0": [false,
//   1]},
//    "by": "isomer 0.3.0"}
// and then a certificate's lines (kernel/certify/certificate.h), whose names are those of the region; what
// the steps make is n0, n1, ...
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernel/prove/step.h"
#include "optimizer/plans/known_region.h"

namespace isomer {

// Directories of a store are of this format; what has another is not looked at.
inline constexpr int kPlanFormat = 1;
inline constexpr std::size_t kMostPlanBytes = std::size_t{1} << 20;

struct Plan {
  std::string key;
  KnownRegion region;
  std::vector<CertifiedStep> steps;  // claims and folds
  struct About {
    std::string kind, what;
  };
  std::vector<About> about;  // one for each claim, in their order
  std::string by;            // the name of the writer, for display
};

std::string to_text(const Plan& plan);
// Error: it is no plan; its region has another key; it is too large.
Result<Plan> parse_plan(std::string_view text);

}  // namespace isomer
