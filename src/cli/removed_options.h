// Options, and values of options, that were removed. A call that still uses one gets a line with what was
// removed, why, and what to do instead.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace isomer::cli {

struct RemovedOption {
  std::string_view command, option;
  std::string_view value;  // the one that was removed; "": the option as a whole
  std::string_view why;    // and what to do instead
};

std::span<const RemovedOption> removed_options();

// The line about the first argument that uses one of them; "": none does.
std::string complaint_about_removed(std::string_view command, const std::vector<std::string>& arguments);

}  // namespace isomer::cli
