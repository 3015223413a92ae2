// Digest: a 128-bit hash of structured data, the same on every machine and in every run.
//
// Built by absorbing 64-bit words (a multiply-and-fold mixer in two independent lanes). Wide enough that
// equal digests may be treated as equal structure inside one process. Code that needs certainty compares the
// full key; code that faces an adversary (certificates) uses a cryptographic digest instead.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

namespace isomer {

// One round of mixing: a bijection of 64-bit words (splitmix64's finaliser).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
  friend auto operator<=>(const Digest&, const Digest&) = default;
  std::string hex() const;
};

class Hasher {
 public:
  Hasher& add(std::uint64_t word) {
    a_ = mix(a_ ^ word);
    b_ = mix(b_ + (word * 0xff51afd7ed558ccdULL) + 0x632be59bd9b4e019ULL);
    return *this;
  }
  Hasher& add(std::int64_t word) { return add(static_cast<std::uint64_t>(word)); }
  Hasher& add(int word) { return add(static_cast<std::uint64_t>(static_cast<std::int64_t>(word))); }
  Hasher& add(const Digest& d) { return add(d.high).add(d.low); }
  Hasher& add(std::string_view text) { return add_bytes(text.data(), text.size()); }
  Hasher& add_bytes(const void* data, std::size_t size);
  Digest digest() const { return {mix(a_ ^ (b_ << 1)), mix(b_ + 0x2545f4914f6cdd1dULL)}; }

 private:
  std::uint64_t a_ = 0x6a09e667f3bcc908ULL;
  std::uint64_t b_ = 0xbb67ae8584caa73bULL;
};

}  // namespace isomer

template <>
struct std::hash<isomer::Digest> {
  std::size_t operator()(const isomer::Digest& d) const noexcept { return static_cast<std::size_t>(d.high); }
};
