// The most likely correction of a misspelled word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace isomer {

// The word that this one was probably meant to be, or "".
std::string nearest(std::string_view word, const std::vector<std::string>& words);

}  // namespace isomer
