#include "base/blake2b.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

namespace isomer {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie");

constexpr std::size_t kDigestBytes = 32;
constexpr std::size_t kRounds = 12;

// The fractional parts of the square roots of the first eight primes, as in SHA-512.
constexpr std::array<std::uint64_t, 8> kStart = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                                 0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                                 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

constexpr unsigned char kOrder[10][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                          {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                          {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                          {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                          {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                          {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                          {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                          {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                          {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                          {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

using Words = std::array<std::uint64_t, 16>;

[[gnu::always_inline]] inline void mix_column(Words& v, int a, int b, int c, int d, std::uint64_t x,
                                              std::uint64_t y) {
  const auto at = [&](int i) -> std::uint64_t& { return v[static_cast<std::size_t>(i)]; };
  at(a) += at(b) + x;
  at(d) = std::rotr(at(d) ^ at(a), 32);
  at(c) += at(d);
  at(b) = std::rotr(at(b) ^ at(c), 24);
  at(a) += at(b) + y;
  at(d) = std::rotr(at(d) ^ at(a), 16);
  at(c) += at(d);
  at(b) = std::rotr(at(b) ^ at(c), 63);
}

// The order is known to the compiler and all is one function, so that the state stays in registers: twice as
// fast as a loop.
template <std::size_t Round>
[[gnu::always_inline]] inline void mix_round(Words& v, const Words& m) {
  constexpr auto& s = kOrder[Round % 10];
  mix_column(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
  mix_column(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
  mix_column(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
  mix_column(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
  mix_column(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
  mix_column(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
  mix_column(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
  mix_column(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
}

template <std::size_t... Rounds>
[[gnu::always_inline]] inline void mix_rounds(Words& v, const Words& m, std::index_sequence<Rounds...>) {
  (mix_round<Rounds>(v, m), ...);
}

}  // namespace

Blake2b::Blake2b() : state_(kStart) { state_[0] ^= 0x01010000 ^ kDigestBytes; }

void Blake2b::compress(bool last) {
  Words m, v;
  std::memcpy(m.data(), block_.data(), kBlock);
  std::ranges::copy(state_, v.begin());
  std::ranges::copy(kStart, v.begin() + 8);
  v[12] ^= count_;
  if (last) v[14] = ~v[14];
  mix_rounds(v, m, std::make_index_sequence<kRounds>());
  for (std::size_t i = 0; i < 8; ++i) state_[i] ^= v[i] ^ v[i + 8];
}

Blake2b& Blake2b::add(const void* data, std::size_t size) {
  const auto* from = static_cast<const unsigned char*>(data);
  while (size > 0) {
    // The last block is compressed otherwise: a full one waits for what follows.
    if (filled_ == kBlock) {
      count_ += kBlock;
      compress(false);
      filled_ = 0;
    }
    const std::size_t part = std::min(size, kBlock - filled_);
    std::memcpy(block_.data() + filled_, from, part);
    filled_ += part;
    from += part;
    size -= part;
  }
  return *this;
}

std::string Blake2b::hex() const {
  Blake2b end = *this;
  end.count_ += filled_;
  std::fill(end.block_.begin() + static_cast<std::ptrdiff_t>(filled_), end.block_.end(),
            static_cast<unsigned char>(0));
  end.compress(true);
  std::string out;
  std::array<unsigned char, kDigestBytes> bytes;
  std::memcpy(bytes.data(), end.state_.data(), bytes.size());
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const unsigned char b : bytes) (out += kDigits[b >> 4]) += kDigits[b & 0xF];
  return out;
}

}  // namespace isomer
