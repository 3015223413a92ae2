#include "cli/reason_words.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cli/wording.h"

namespace isomer::cli {
namespace {

constexpr std::size_t kLongest = 300;

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// "[N] -> { [i] : 0 <= i < N }" -> "..."
void leave_out_sets(std::string& text) {
  for (std::size_t open = text.find("{ "); open != std::string::npos; open = text.find("{ ", open)) {
    const std::size_t close = text.find('}', open);
    if (close == std::string::npos) return;
    std::size_t begin = open;
    // Parameters stand before: "[N, M] -> ".
    if (begin >= 4 && text.compare(begin - 4, 4, " -> ") == 0)
      if (const auto bracket = text.rfind('[', begin); bracket != std::string::npos) begin = bracket;
    text.replace(begin, close + 1 - begin, "...");
    open = begin;
  }
}

}  // namespace

std::string plain_reason(std::string_view why) {
  std::string text(why);
  leave_out_sets(text);
  constexpr std::string_view kUnknown = "nothing is known of ";
  if (const auto at = text.find(kUnknown); at != std::string::npos) {
    const auto name = at + kUnknown.size();
    const auto end = std::min(text.find_first_of(" ,;", name), text.size());
    text.insert(end, " has no definition here, or no known size");
    text.erase(at, kUnknown.size());
  }
  using Words = std::pair<std::string_view, std::string_view>;
  constexpr std::array kWords = {
      Words{"undecided: ", ""},
      Words{"the field witness could not test it: ",
            "the second test, by exact arithmetic, was not possible: "},
      Words{"equal as sets, but ", "proved, but "},
      Words{"output 0: not proved at ...", "neither a proof nor an input that shows a difference was found"},
      Words{"not proved at ...", "neither a proof nor an input that shows a difference was found"},
      Words{"no smaller instance is equal", "it is too large, and not equal at smaller sizes"},
  };
  for (const auto& [from, to] : kWords) replace_all(text, from, to);
  return shortened(text, kLongest);
}

}  // namespace isomer::cli
