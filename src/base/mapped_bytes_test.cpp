#include "base/mapped_bytes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/temporary_folder.h"

namespace isomer {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

// A file of 8 MiB, of which some bytes are written; the rest are holes, or zeros that are written too.
class MappedBytes : public ::testing::Test {
 protected:
  std::shared_ptr<const void> file(const std::vector<std::size_t>& places, bool is_sparse = true) {
    const std::string path = folder_.path() + "/" + std::to_string(made_++);
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    EXPECT_EQ(::ftruncate(fd, kSize), 0);
    const std::vector<char> zeros(kSize);
    if (!is_sparse) {
      EXPECT_EQ(::pwrite(fd, zeros.data(), kSize, 0), static_cast<ssize_t>(kSize));
    }
    for (const std::size_t place : places) EXPECT_EQ(::pwrite(fd, "x", 1, static_cast<off_t>(place)), 1);
    std::shared_ptr<const void> mapped = map_file(fd, kSize);
    ::close(fd);
    EXPECT_NE(mapped, nullptr);
    return mapped;
  }
  static const std::byte* at(const std::shared_ptr<const void>& mapped, std::size_t offset) {
    return static_cast<const std::byte*>(mapped.get()) + offset;
  }
  static std::size_t resident_pages(const std::shared_ptr<const void>& mapped) {
    std::size_t pages = 0;
    FILE* smaps = std::fopen("/proc/self/smaps", "r");
    char line[512];
    for (bool inside = false; smaps != nullptr && std::fgets(line, sizeof line, smaps) != nullptr;) {
      unsigned long begin = 0, end = 0, kibibytes = 0;
      if (std::sscanf(line, "%lx-%lx ", &begin, &end) == 2)
        inside = begin == reinterpret_cast<std::uintptr_t>(mapped.get());
      else if (inside && std::sscanf(line, "Rss: %lu kB", &kibibytes) == 1) pages = kibibytes / 4;
    }
    if (smaps != nullptr) std::fclose(smaps);
    return pages;
  }
  static constexpr std::size_t kSize = 8 * kMebibyte;

 private:
  TemporaryFolder folder_{std::filesystem::temp_directory_path(), "isomer-test"};
  int made_ = 0;
};

TEST_F(MappedBytes, HolesEndWhereDataBegins) {
  const auto mapped = file({0, 4 * kMebibyte});
  if (hole_at(at(mapped, kMebibyte), 1) == 0) GTEST_SKIP() << "this file system has no holes";
  EXPECT_EQ(hole_at(at(mapped, 0), kSize), 0u);
  EXPECT_EQ(hole_at(at(mapped, 4 * kMebibyte), 1), 0u);
  EXPECT_EQ(hole_at(at(mapped, 3 * kMebibyte), kSize), kMebibyte);
  EXPECT_EQ(hole_at(at(mapped, 3 * kMebibyte), 7), 7u);
  EXPECT_EQ(hole_at(at(mapped, 6 * kMebibyte), kSize), 2 * kMebibyte);  // not beyond the file
  EXPECT_EQ(hole_at(at(mapped, kSize - 1), kSize), 1u);
}

TEST_F(MappedBytes, NothingElseIsAHole) {
  const auto written = file({}, false);
  EXPECT_EQ(hole_at(at(written, kMebibyte), kMebibyte), 0u);
  const std::vector<std::byte> zeros(kMebibyte);
  EXPECT_EQ(hole_at(zeros.data(), zeros.size()), 0u);
  const void* gone = nullptr;
  {
    gone = file({}).get();
  }
  EXPECT_EQ(hole_at(gone, 1), 0u);  // unmapped
}

TEST_F(MappedBytes, AreTheSameIfAllOfThemAre) {
  const auto one = file({5 * kMebibyte}), other = file({5 * kMebibyte}),
             more = file({5 * kMebibyte, 7 * kMebibyte}), solid = file({5 * kMebibyte}, false),
             end = file({5 * kMebibyte, kSize - 1});
  EXPECT_TRUE(same_bytes(one.get(), other.get(), kSize));
  EXPECT_TRUE(same_bytes(one.get(), solid.get(), kSize));
  EXPECT_TRUE(same_bytes(solid.get(), one.get(), kSize));
  for (const auto& different : {more, end}) {
    EXPECT_FALSE(same_bytes(one.get(), different.get(), kSize));
    EXPECT_FALSE(same_bytes(different.get(), one.get(), kSize));
    EXPECT_FALSE(same_bytes(solid.get(), different.get(), kSize));
  }
  EXPECT_TRUE(same_bytes(one.get(), end.get(), kSize - 1));
  EXPECT_FALSE(same_bytes(at(one, 5 * kMebibyte), at(one, 0), 1));
  EXPECT_TRUE(same_bytes(nullptr, one.get(), 0));
  // Shifted by a byte: holes and data of the two lie elsewhere.
  EXPECT_FALSE(same_bytes(at(one, 0), at(other, 1), 6 * kMebibyte));
  EXPECT_TRUE(same_bytes(at(one, 6 * kMebibyte), at(other, kMebibyte), 2 * kMebibyte));
}

TEST_F(MappedBytes, LeaveMemoryAndAreReadAgain) {
  const auto mapped = file({0, 3 * kMebibyte, kSize - 1}, false);
  std::size_t sum = 0;
  for (std::size_t k = 0; k < kSize; k += 4096) sum += static_cast<std::size_t>(*at(mapped, k));
  EXPECT_EQ(sum, 2u * 'x');
  EXPECT_GE(resident_pages(mapped), kSize / 4096);
  let_go(at(mapped, 0), kSize);
  EXPECT_LT(resident_pages(mapped), 64u);
  EXPECT_EQ(static_cast<char>(*at(mapped, 3 * kMebibyte)), 'x');
  EXPECT_EQ(static_cast<char>(*at(mapped, kSize - 1)), 'x');
}

TEST_F(MappedBytes, OfNobodyAreLeftAlone) {
  std::vector<std::byte> bytes(4 * kMebibyte, std::byte{7});
  let_go(bytes.data(), bytes.size());
  EXPECT_TRUE(std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{7}; }));
}

TEST_F(MappedBytes, ComparingMuchTakesLittleMemory) {
  const auto one = file({}, false), other = file({}, false);
  EXPECT_TRUE(same_bytes(one.get(), other.get(), kSize));
  EXPECT_LT(resident_pages(one) + resident_pages(other), kSize / 4096);
}

TEST_F(MappedBytes, AFileThatCannotBeMappedIsNone) { EXPECT_EQ(map_file(-1, 1), nullptr); }

}  // namespace
}  // namespace isomer
