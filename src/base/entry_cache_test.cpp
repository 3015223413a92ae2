#include "base/entry_cache.h"

#include <gmock/gmock.h>

#include <chrono>
#include <fstream>

#include "base/temporary_folder.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class EntryCacheTest : public ::testing::Test {
 protected:
  EntryCacheTest() : folder_(fs::temp_directory_path(), ".isomer-entries") {}

  EntryCache cache(std::uintmax_t most_bytes = EntryCache::kMostBytes) const {
    return {fs::path(folder_.path()) / "entries", {.runtime = "1.31.1", .processor = "avx"}, most_bytes};
  }
  void add(const EntryCache& cache, const std::string& key, const std::string& model = "model",
           const std::string& why_none = "") const {
    const fs::path files = cache.place(key).string() + ".new";
    fs::create_directories(files);
    if (why_none.empty()) std::ofstream(files / "model.onnx") << model;
    cache.add(key, files, why_none);
  }
  static std::string why_not(const EntryCache& cache, const std::string& key) {
    try {
      return cache.find(key).model.empty() ? "no model" : "";
    } catch (const NoEntry& none) {
      return none.what();
    }
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(EntryCacheTest, FindsWhatWasAdded) {
  EXPECT_THAT(why_not(cache(), "a"), HasSubstr("nothing is prepared"));
  add(cache(), "a");
  EXPECT_EQ(why_not(cache(), "a"), "");
  EXPECT_THAT(why_not(cache(), "b"), HasSubstr("nothing is prepared"));
  add(cache(), "a", "another");
  EXPECT_EQ(digest_of_file(cache().find("a").model).size(), 64U);
  EXPECT_EQ(bytes_in(cache().find("a").model), 0U);  // no folder
}

TEST_F(EntryCacheTest, ToldThatNothingIsFasterIsExpected) {
  add(cache(), "a", "", "as fast as it was");
  try {
    cache().find("a");
    FAIL();
  } catch (const NoEntry& none) {
    EXPECT_TRUE(none.is_expected);
    EXPECT_THAT(none.what(), HasSubstr("as fast as it was"));
  }
}

TEST_F(EntryCacheTest, TakesNothingThatWasCutOrChanged) {
  for (const char* name : {"model.onnx", EntryCache::kManifest}) {
    add(cache(), "a");
    const fs::path file = cache().place("a") / name;
    const std::uintmax_t size = fs::file_size(file);
    for (std::uintmax_t cut = 0; cut < size; ++cut) {
      fs::resize_file(file, size - cut - 1);
      EXPECT_THAT(why_not(cache(), "a"), HasSubstr("damaged")) << name << " " << cut;
    }
    fs::remove(file);
    EXPECT_THAT(why_not(cache(), "a"), HasSubstr("missing"));
  }
}

TEST_F(EntryCacheTest, ForgetsWhatWasUsedLeast) {
  const EntryCache small = cache(3000);
  const auto now = fs::file_time_type::clock::now();
  int hours = 4;
  for (const char* key : {"a", "b", "c"}) {
    add(small, key, std::string(1000, 'x'));
    fs::last_write_time(small.place(key), now - std::chrono::hours(hours--));
    if (key == std::string("b")) {
      EXPECT_EQ(why_not(small, "a"), "");  // used just now
    }
  }
  EXPECT_EQ(why_not(small, "a"), "");
  EXPECT_NE(why_not(small, "b"), "");
  EXPECT_EQ(why_not(small, "c"), "");
}

}  // namespace
}  // namespace isomer
