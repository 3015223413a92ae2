#include "base/mapped_bytes.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

namespace isomer {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPiece = std::size_t{1} << 20;  // compared at once
// The most holes that are listed for a file, so that the list stays small; further holes are read as bytes.
constexpr std::size_t kMostHoles = std::size_t{1} << 16;
constexpr std::size_t kLooks = 8;  // inside of a hole

using Holes = std::map<std::size_t, std::size_t>;  // begin -> end, within a file

struct Mapped {
  std::size_t size = 0;
  Holes holes;
};

class Mappings {
 public:
  void add(const std::byte* begin, Mapped mapped) {
    const std::scoped_lock lock(mutex_);
    all_.insert_or_assign(begin, std::move(mapped));
  }
  void remove(const std::byte* begin) {
    const std::scoped_lock lock(mutex_);
    all_.erase(begin);
  }
  // f(begin of the mapping, the mapping), of the one that holds an address.
  template <class F>
  void with(const std::byte* data, F f) const {
    const std::scoped_lock lock(mutex_);
    const auto after = all_.upper_bound(data);
    if (after == all_.begin()) return;
    const auto& [begin, mapped] = *std::prev(after);
    if (static_cast<std::size_t>(data - begin) < mapped.size) f(begin, mapped);
  }

 private:
  mutable std::mutex mutex_;
  std::map<const std::byte*, Mapped> all_;
};

// Never destroyed: a tensor may outlive all that is.
Mappings& mappings() {
  static auto* all = new Mappings;
  return *all;
}

bool is_zero(const std::byte* data, std::size_t size) {
  static constexpr std::array<std::byte, kPage> kZeros = {};
  return std::memcmp(data, kZeros.data(), std::min(size, kPage)) == 0;
}

// A file system that calls data a hole is one that has lost it; some have. Both ends are looked at, and
// places between them.
bool looks_empty(const std::byte* data, std::size_t size) {
  if (size <= (kLooks + 2) * kPage) return false;  // soon read
  for (std::size_t k = 0; k <= kLooks; ++k)
    if (!is_zero(data + (size - kPage) / kLooks * k, kPage)) return false;
  return is_zero(data + size - kPage, kPage);
}

Holes holes_of(int descriptor, const std::byte* data, std::size_t size) {
  Holes holes;
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || static_cast<std::size_t>(status.st_blocks) * 512 >= size)
    return holes;
  for (std::size_t at = 0; at < size && holes.size() < kMostHoles;) {
    const off_t hole = ::lseek(descriptor, static_cast<off_t>(at), SEEK_HOLE);
    if (hole < 0 || static_cast<std::size_t>(hole) >= size) break;
    const auto begin = static_cast<std::size_t>(hole);
    const off_t next = ::lseek(descriptor, hole, SEEK_DATA);
    if (next < 0 && errno != ENXIO) break;  // ENXIO: a hole to the end
    const std::size_t end = next < 0 ? size : std::min(static_cast<std::size_t>(next), size);
    if (end <= begin) break;
    if (looks_empty(data + begin, end - begin)) holes.emplace(begin, end);
    let_go(data + begin, end - begin);
    at = end;
  }
  return holes;
}

}  // namespace

std::shared_ptr<const void> map_file(int descriptor, std::size_t size) {
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (at == MAP_FAILED) return nullptr;
  const auto* data = static_cast<const std::byte*>(at);
  mappings().add(data, {size, {}});
  ::madvise(at, size, MADV_RANDOM);  // what is looked at is few pages, far from each other
  Holes holes = holes_of(descriptor, data, size);
  ::madvise(at, size, MADV_NORMAL);
  mappings().add(data, {size, std::move(holes)});
  return {at, [size](const void* mapped) {
            mappings().remove(static_cast<const std::byte*>(mapped));
            ::munmap(const_cast<void*>(mapped), size);
          }};
}

std::size_t hole_at(const void* data, std::size_t size) {
  std::size_t found = 0;
  const auto* from = static_cast<const std::byte*>(data);
  mappings().with(from, [&](const std::byte* begin, const Mapped& mapped) {
    const auto offset = static_cast<std::size_t>(from - begin);
    const auto after = mapped.holes.upper_bound(offset);
    if (after == mapped.holes.begin()) return;
    const std::size_t end = std::prev(after)->second;
    if (end > offset) found = std::min(size, end - offset);
  });
  return found;
}

void let_go(const void* data, std::size_t size) {
  const auto* from = static_cast<const std::byte*>(data);
  mappings().with(from, [&](const std::byte* begin, const Mapped& mapped) {
    const auto offset = static_cast<std::size_t>(from - begin);
    const std::size_t first = (offset + kPage - 1) / kPage * kPage;
    const std::size_t last = std::min(offset + size, mapped.size) / kPage * kPage;
    // For a file that is mapped read-only: the next read gets the bytes of the file again.
    if (first < last) ::madvise(const_cast<std::byte*>(begin) + first, last - first, MADV_DONTNEED);
  });
}

bool same_bytes(const void* a, const void* b, std::size_t size) {
  if (size == 0 || a == b) return true;
  if (size <= kPiece) return std::memcmp(a, b, size) == 0;
  const auto *one = static_cast<const std::byte*>(a), *other = static_cast<const std::byte*>(b);
  for (std::size_t at = 0; at < size;) {
    const std::size_t rest = size - at;
    const std::size_t zeros = std::min(hole_at(one + at, rest), hole_at(other + at, rest));
    const std::size_t part = std::min(rest, kPiece);
    if (zeros == 0 && std::memcmp(one + at, other + at, part) != 0) return false;
    if (zeros == 0) {
      let_go(one + at, part);
      let_go(other + at, part);
    }
    at += zeros == 0 ? part : zeros;
  }
  return true;
}

}  // namespace isomer
