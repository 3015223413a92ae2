#include "base/hash.h"

#include <fmt/format.h>

namespace isomer {

std::string Digest::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

Hasher& Hasher::add_bytes(const void* data, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  add(static_cast<std::uint64_t>(size));
  std::uint64_t word = 0;
  for (; size >= sizeof word; bytes += sizeof word, size -= sizeof word) {
    std::memcpy(&word, bytes, sizeof word);
    add(word);
  }
  if (size > 0) {
    word = 0;
    std::memcpy(&word, bytes, size);
    add(word);
  }
  return *this;
}

}  // namespace isomer
