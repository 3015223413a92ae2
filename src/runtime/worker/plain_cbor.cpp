#include "runtime/worker/plain_cbor.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <vector>

namespace isomer {
namespace {

constexpr std::size_t kDeepest = 64;  // what is sent is 5 deep

enum Major : std::uint8_t { Positive, Negative, Bytes, Text, Array, Map, Tag, Simple };

struct Head {
  Major major;
  std::uint8_t information;
  std::uint64_t value;
};

// The first bytes of a value, which `at` is moved behind; false if they are cut off or of another kind.
bool read_head(std::span<const char> bytes, std::size_t& at, Head& head) {
  if (at >= bytes.size()) return false;
  const auto first = static_cast<std::uint8_t>(bytes[at++]);
  head = {static_cast<Major>(first >> 5), static_cast<std::uint8_t>(first & 31), 0};
  head.value = head.information;
  if (head.information < 24) return true;
  if (head.information > 27) return false;  // reserved, or "until a mark"
  const std::size_t size = std::size_t{1} << (head.information - 24);
  if (bytes.size() - at < size) return false;
  head.value = 0;
  for (std::size_t i = 0; i < size; ++i)
    head.value = head.value << 8 | static_cast<std::uint8_t>(bytes[at++]);
  return true;
}

}  // namespace

bool is_plain_cbor(std::span<const char> bytes) {
  std::vector<std::uint64_t> left{1};  // values still to come, by level
  std::size_t at = 0;
  while (!left.empty()) {
    if (left.back() == 0) {
      left.pop_back();
      continue;
    }
    --left.back();
    Head head{};
    if (!read_head(bytes, at, head)) return false;
    const std::uint64_t rest = bytes.size() - at;
    switch (head.major) {
      case Positive:
      case Negative: break;
      case Bytes:
      case Text:
        if (head.value > rest) return false;
        at += head.value;
        break;
      case Array:
      case Map:
        // Each value is a byte at least.
        if (head.value > rest || left.size() > kDeepest) return false;
        left.push_back(head.major == Map ? 2 * head.value : head.value);
        break;
      case Tag: return false;
      case Simple:
        if (head.information == 24 || head.information < 20) return false;
        break;
    }
  }
  return at == bytes.size();
}

nlohmann::json json_from_cbor(std::span<const char> bytes) {
  if (!is_plain_cbor(bytes)) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::from_cbor(bytes.begin(), bytes.end(), true, false);
}

}  // namespace isomer
