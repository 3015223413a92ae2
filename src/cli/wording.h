// Words and numbers as people like to read them: quantities with units, lines of a width. Text from files is
// made safe for a terminal by base/printable.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/printable.h"

namespace isomer::cli {

// "0 B", "97.5 MiB", "8.0 GiB"
std::string bytes_text(std::uint64_t bytes);
// "812", "25.6 k", "4.09 G"
std::string count_text(double count);
// "12,345"
std::string grouped(std::uint64_t count);

// "0.4 s", "12 s", "4 m 05 s"
std::string duration_text(double seconds);
// "812 µs", "12.3 ms"
std::string latency_text(double ns);

// The text in lines of at most `columns` columns, broken between words; lines after the first are indented.
// Longer words stay whole. `used`: columns before the first line.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent, std::size_t used = 0);

// At most `most` characters, the end replaced by "..." where there are more.
std::string shortened(std::string_view text, std::size_t most);
constexpr std::size_t kLongestReason = 300;  // characters of why something was not done
// Characters (code points), for columns.
std::size_t width(std::string_view text);

}  // namespace isomer::cli
