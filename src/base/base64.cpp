#include "base/base64.h"

#include <algorithm>
#include <cstdint>

namespace isomer {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string out;
  for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(3, bytes.size()))) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8u | (k < bytes.size() ? static_cast<unsigned char>(bytes[k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += k <= bytes.size() ? kDigits[bits >> (18 - 6 * k) & 63u] : '=';
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string out;
  const std::size_t size = std::min(text.size(), text.find('='));
  std::uint32_t bits = 0;
  for (std::size_t k = 0; k < size; ++k) {
    const std::size_t digit = kDigits.find(text[k]);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6u | static_cast<std::uint32_t>(digit);
    if (k % 4 != 0) out += static_cast<char>(bits >> (6 - 2 * (k % 4)) & 255u);
  }
  if (to_base64(out) != text) return std::nullopt;  // padding, and bits that are no part of any byte
  return out;
}

}  // namespace isomer
