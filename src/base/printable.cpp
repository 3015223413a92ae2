#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>

namespace isomer {
namespace {

// The marks that turn the direction of writing (UAX #9), and the separators of lines and of paragraphs.
bool turns_or_breaks(char32_t c) {
  return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

// The character at the front of `text`, which is cut off there.
std::string next_character(std::string_view& text) {
  const CodePoint c = decode_utf8(text);
  const std::string_view raw = text.substr(0, std::max<std::size_t>(c.bytes, 1));
  text.remove_prefix(raw.size());
  if (c.bytes != 0 && !is_control(c.value) && !turns_or_breaks(c.value)) return std::string(raw);
  std::string escaped;
  for (const char byte : raw) escaped += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return escaped;
}

}  // namespace

CodePoint decode_utf8(std::string_view text) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {};
  char32_t value = lead & (0xffu >> (size + 1));
  for (std::size_t k = 1; k < size; ++k) {
    if ((byte(k) & 0xc0) != 0x80) return {};
    value = (value << 6) | (byte(k) & 0x3fu);
  }
  const char32_t least = size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000;
  if (value < least || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return {};
  return {value, size};
}

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0); }

std::string printable(std::string_view text, std::size_t most_bytes) {
  std::string shown;
  while (!text.empty()) {
    if (shown.size() >= most_bytes) return shown + "...";
    shown += next_character(text);
  }
  return shown;
}

std::string printable_lines(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const bool stays = text.front() == '\n' || text.front() == '\t';
    if (stays) shown += text.front(), text.remove_prefix(1);
    else shown += next_character(text);
  }
  return shown;
}

}  // namespace isomer
