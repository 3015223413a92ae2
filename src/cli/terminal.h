// Properties of the terminal, if there is one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace isomer::cli {

bool is_terminal(int file);
// How many characters fit into a line: of the terminal, else 80.
std::size_t columns_of(int file);

enum class Colour { Green, Yellow, Red };
// In that colour if stdout is a terminal and colours are not disabled (NO_COLOR, TERM=dumb); else as it is.
std::string paint(std::string_view text, Colour colour);

}  // namespace isomer::cli
