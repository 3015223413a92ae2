#include "app/inputs/stamp.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "runtime/judge/testing.h"

namespace isomer {
namespace {

using testing::TemporaryFolder;

constexpr std::uintmax_t kPlenty = 1 << 20;

// Fields of four kinds: a number, 8 bytes, a text, and foreign metadata {"k", "v"}.
const std::string kMessage =
    "\x08\x96\x01"
    "\x11"
    "12345678"
    "\x32\x03"
    "abc"
    "\x72\x06\x0a\x01k\x12\x01v";

class StampedFile {
 public:
  explicit StampedFile(const std::string& bytes) { std::ofstream(path(), std::ios::binary) << bytes; }
  std::filesystem::path path() const { return folder_ / "m.onnx"; }
  std::string bytes() const {
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  TemporaryFolder folder_;
};

TEST(Stamp, IsFollowedByNothingAndLeavesTheRestAlone) {
  const StampedFile file(kMessage);
  const Stamp stamp{{"version", "1"}};
  ASSERT_TRUE(put_stamp(file.path(), stamp, kPlenty).ok());
  EXPECT_EQ(file.bytes(), kMessage + "\x72\x17\x0a\x12pkg.isomer.version\x12\x01" + "1");
}

TEST(Stamp, TakesThePlaceOfAnOlderOne) {
  const StampedFile file(encode({{"version", "1"}, {"ratio", "2"}}) + kMessage + encode({{"other", "3"}}));
  ASSERT_TRUE(put_stamp(file.path(), {{"version", "4"}}, kPlenty).ok());
  EXPECT_EQ(file.bytes(), kMessage + encode({{"version", "4"}}));
}

TEST(Stamp, IsLeftOutWhereItDoesNotFit) {
  const StampedFile file(kMessage);
  const Stamp stamp{{"version", std::string(300, 'v')}};
  const std::uintmax_t needed = kMessage.size() + encode(stamp).size();
  ASSERT_TRUE(put_stamp(file.path(), stamp, needed - 1).ok());
  EXPECT_EQ(file.bytes(), kMessage);
  ASSERT_TRUE(put_stamp(file.path(), stamp, needed).ok());
  EXPECT_EQ(file.bytes().size(), needed);
}

TEST(Stamp, IsNotPutOnWhatIsNoMessage) {
  for (const std::string& bytes :
       {kMessage.substr(0, kMessage.size() - 1), std::string("\x0f"), std::string(12, '\xff')}) {
    const StampedFile file(bytes);
    EXPECT_FALSE(put_stamp(file.path(), {{"version", "1"}}, kPlenty).ok());
    EXPECT_EQ(file.bytes(), bytes);
  }
}

}  // namespace
}  // namespace isomer
