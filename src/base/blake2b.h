// BLAKE2b with 256 bits of output (RFC 7693, no key): the digest for data that an adversary may have made,
// such as the models of a certificate. For hash tables and caches there is hash.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace isomer {

class Blake2b {
 public:
  Blake2b();
  Blake2b& add(const void* data, std::size_t size);
  std::string hex() const;  // of all that was added: 64 lower-case digits

 private:
  static constexpr std::size_t kBlock = 128;
  void compress(bool last);

  std::array<std::uint64_t, 8> state_;
  std::array<unsigned char, kBlock> block_ = {};
  std::size_t filled_ = 0;
  std::uint64_t count_ = 0;  // bytes compressed
};

}  // namespace isomer
