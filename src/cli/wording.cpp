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
