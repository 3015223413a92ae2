#include "cli/removed_options.h"

#include <fmt/format.h>

#include <array>

namespace isomer::cli {
namespace {

constexpr std::string_view kNoPrior =
    "a learned order of proposers made the search take 1.06 times the time; leave the option out";

constexpr std::string_view kNowKernels =
    "isomer optimize MODEL -o OUT.onnx --kernels searches graphs and kernels together";

constexpr auto kRemoved = std::to_array<RemovedOption>({
    {"compile", "--equal", "", kNowKernels},
    {"compile", "--optimize", "", kNowKernels},
    {"optimize", "--prior", "", kNoPrior},
    {"optimize", "--no-prior", "", kNoPrior},
    {"optimize", "--trust-timings", "",
     "it saved no time with a runtime; leave the option out: plans of --plans are measured here"},
});

// Whether an option is used, as "--option value" or "--option=value"; `next` is the argument after it.
bool uses(const RemovedOption& removed, std::string_view argument, std::string_view next) {
  const std::size_t equals = argument.find('=');
  if (argument.substr(0, equals) != removed.option) return false;
  const std::string_view value = equals == std::string_view::npos ? next : argument.substr(equals + 1);
  return removed.value.empty() || value == removed.value;
}

}  // namespace

std::span<const RemovedOption> removed_options() { return kRemoved; }

std::string complaint_about_removed(std::string_view command, const std::vector<std::string>& arguments) {
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const std::string_view next = k + 1 < arguments.size() ? std::string_view(arguments[k + 1]) : "";
    for (const RemovedOption& r : kRemoved)
      if (r.command == command && uses(r, arguments[k], next))
        return fmt::format("{} {}{}{} was removed: {}", r.command, r.option, r.value.empty() ? "" : " ",
                           r.value, r.why);
  }
  return "";
}

}  // namespace isomer::cli
