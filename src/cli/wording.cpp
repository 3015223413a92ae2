#include "cli/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace isomer::cli {
namespace {

// Three digits that matter, whatever the size of the number.
std::string three_digits(double value) {
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

bool continues(unsigned char c) { return (c & 0xc0U) == 0x80U; }

// How many bytes the UTF-8 character at the start of the text has; 0 if none is there or it is a control
// character.
std::size_t printable_bytes(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = at(0);
  if (first < 0x80) return first < 0x20 || first == 0x7f ? 0 : 1;
  const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  for (std::size_t i = 1; i < length; ++i)
    if (!continues(static_cast<unsigned char>(at(i)))) return 0;
  if (first == 0xc2 && at(1) < 0xa0) return 0;  // the second set of control characters
  if ((first == 0xe0 && at(1) < 0xa0) || (first == 0xf0 && at(1) < 0x90)) return 0;  // overlong
  if (first == 0xed && at(1) >= 0xa0) return 0;                                      // surrogates
  if (first == 0xf4 && at(1) >= 0x90) return 0;  // past the last character
  // Marks that turn the direction of the text around, and the separators of lines and paragraphs.
  if (first == 0xe2 && at(1) == 0x80 && ((at(2) >= 0xa8 && at(2) <= 0xae) || at(2) == 0x8e || at(2) == 0x8f))
    return 0;
  if (first == 0xe2 && at(1) == 0x81 && at(2) >= 0xa6 && at(2) <= 0xa9) return 0;
  return length;
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.5 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{} {}", three_digits(value), kUnits[unit]);
}

std::string count_text(double count) {
  constexpr std::array kUnits{"k", "M", "G", "T", "P", "E"};
  if (count < 1000) return fmt::format("{:.0f}", count);
  double value = count / 1000;
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fmt::format("{} {}", three_digits(value), kUnits[unit]);
}

std::string grouped(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string duration_text(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} m {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} m", whole / 3600, whole / 60 % 60);
}

std::string latency_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  const auto [value, unit] = ns < 1e6   ? std::pair{ns / 1e3, "µs"}
                             : ns < 1e9 ? std::pair{ns / 1e6, "ms"}
                                        : std::pair{ns / 1e9, "s"};
  return fmt::format("{} {}", three_digits(value), unit);
}

std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent, std::size_t used) {
  std::string out;
  bool is_first = true;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (!is_first && used + 1 + width(word) > columns) {
      out += '\n' + std::string(indent, ' ');
      used = indent;
    } else if (!is_first) {
      out += ' ';
      ++used;
    }
    out += word;
    used += width(word);
    is_first = false;
  }
  return out;
}

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = printable_bytes(text);
    if (bytes == 0) result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    else result += text.substr(0, bytes);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t most) {
  constexpr std::string_view kEllipsis = "...";
  if (width(text) <= most) return std::string(text);
  std::size_t end = 0;
  for (std::size_t characters = 0; end < text.size(); ++end)
    if (!continues(static_cast<unsigned char>(text[end])) && characters++ + kEllipsis.size() == most) break;
  return std::string(text.substr(0, end)) + std::string(kEllipsis);
}

std::size_t width(std::string_view text) {
  std::size_t characters = 0;
  for (const char c : text) characters += continues(static_cast<unsigned char>(c)) ? 0 : 1;
  return characters;
}

}  // namespace isomer::cli
