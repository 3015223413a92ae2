#include "runtime/judge/timing_cache.h"

#include <fstream>

#include "runtime/judge/testing.h"

namespace isomer {
namespace {

using testing::TemporaryFolder;

TimingKey key(const std::string& a) { return {.a = a, .b = "b", .runtime = "ort", .version = "1"}; }

TimingSamples samples(std::int64_t ns) {
  BlockTimes block;
  for (LegTime& leg : block.a) leg = {ns, ns + 1};
  for (LegTime& leg : block.b) leg = {ns + 2, ns + 3};
  return {{Round{false, {block, block}}}, {Round{true, {block}}}};
}

std::size_t set_aside(const std::filesystem::path& folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    count += entry.path().string().find("set-aside") != std::string::npos;
  return count;
}

TEST(TimingCache, GivesBackWhatWasStoredInAnotherProcessOrThis) {
  const TemporaryFolder folder;
  const std::string path = (folder / "sub/timings.sqlite").string();
  ASSERT_TRUE(TimingCache::open(path)->store(key("x"), samples(5)));
  const auto cache = TimingCache::open(path);
  const auto found = cache->find(key("x"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(to_bytes(*found), to_bytes(samples(5)));
  EXPECT_FALSE(cache->find(key("y")).has_value());
  EXPECT_EQ(cache->trouble(), "");
}

TEST(TimingCache, EveryPartOfTheKeyMatters) {
  const TimingKey base = key("x");
  TimingKey other = base;
  other.options.threads = 2;
  EXPECT_NE(base.text(), other.text());
  other = base, other.version = "2";
  EXPECT_NE(base.text(), other.text());
  other = base, other.options.disabled_optimizers = {"A"};
  EXPECT_NE(base.text(), other.text());
  other = base, other.feeds = "f";
  EXPECT_NE(base.text(), other.text());
  EXPECT_NE(base.text().find("cpu="), std::string::npos);
  EXPECT_NE(base.text().find("protocol="), std::string::npos);
}

TEST(TimingCache, SetsAsideWhatIsNoDatabase) {
  const TemporaryFolder folder;
  const auto path = folder / "timings.sqlite";
  std::ofstream(path) << "this is a text and no database, and long enough for SQLite to look at it twice";
  const auto cache = TimingCache::open(path.string());
  EXPECT_TRUE(cache->store(key("x"), samples(1)));
  EXPECT_TRUE(cache->find(key("x")).has_value());
  EXPECT_NE(cache->trouble(), "");
  EXPECT_EQ(set_aside(folder / ""), 1u);
}

TEST(TimingCache, SetsAsideADamagedPage) {
  const TemporaryFolder folder;
  const auto path = folder / "timings.sqlite";
  {
    const auto cache = TimingCache::open(path.string());
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(cache->store(key(std::to_string(i)), samples(i)));
  }
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    for (int i = 0; i < 4096 * 8; ++i) file.put(static_cast<char>(i * 7));
  }
  const auto cache = TimingCache::open(path.string());
  for (int i = 0; i < 200; ++i) (void)cache->find(key(std::to_string(i)));
  EXPECT_TRUE(cache->store(key("new"), samples(1)));
  EXPECT_TRUE(cache->find(key("new")).has_value());
}

TEST(TimingCache, DoesWithoutWhereItCannotBe) {
  const auto cache = TimingCache::open("/proc/no/such/place/timings.sqlite");
  EXPECT_FALSE(cache->store(key("x"), samples(1)));
  EXPECT_FALSE(cache->find(key("x")).has_value());
  EXPECT_NE(cache->trouble(), "");
}

TEST(TimingCache, KeepsNotes) {
  const TemporaryFolder folder;
  const std::string path = (folder / "timings.sqlite").string();
  EXPECT_TRUE(TimingCache::open(path)->keep_note("question", "no answer"));
  const auto cache = TimingCache::open(path);
  EXPECT_EQ(cache->note("question"), "no answer");
  EXPECT_FALSE(cache->note("another"));
}

TEST(TimingCache, ShrinksToWhatItMayHave) {
  const TemporaryFolder folder;
  const auto cache = TimingCache::open((folder / "timings.sqlite").string());
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(cache->store(key(std::to_string(i)), samples(i)));
  const auto before = cache->bytes();
  cache->shrink_to(before / 4);
  EXPECT_LE(cache->bytes(), before / 4);
  EXPECT_GT(cache->size(), 0u);
  EXPECT_TRUE(cache->store(key("new"), samples(1)));
}

TEST(TimingCache, RefusesBytesThatAreNoSamples) {
  EXPECT_FALSE(samples_from("").has_value());
  EXPECT_FALSE(samples_from("nonsense").has_value());
  std::string bytes = to_bytes(samples(3));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    EXPECT_FALSE(samples_from(damaged).has_value()) << i;
  }
}

}  // namespace
}  // namespace isomer
