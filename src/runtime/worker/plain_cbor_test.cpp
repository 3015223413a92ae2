#include "runtime/worker/plain_cbor.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace isomer {
namespace {

using Json = nlohmann::json;

std::string bytes_of(const Json& json) {
  const std::vector<std::uint8_t> bytes = Json::to_cbor(json);
  return {bytes.begin(), bytes.end()};
}

TEST(PlainCbor, ReadsWhatIsWritten) {
  const Json some = {
      {"integers", {0, 23, 24, 255, 256, 65535, 65536, -1, -25, -70000}},
      {"large", {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::uint64_t>::max()}},
      {"numbers", {0.5, 1e300, -0.0}},
      {"text", std::string(70000, 'x')},
      {"truth", {true, false, nullptr}},
      {"nothing", {Json::object(), Json::array(), ""}},
      {"bytes", Json::binary({1, 2, 3})}};
  EXPECT_EQ(json_from_cbor(bytes_of(some)), some);
}

TEST(PlainCbor, RefusesDepthThatNoStackBears) {
  for (const std::string level :
       {"\x81", "\x9f", "\xa1\x61x", "\xbf\x61x", "\x7f", "\x5f", "\xc1", "\xd8\x20"}) {
    std::string bytes;
    for (int i = 0; i < 1'000'000; ++i) bytes += level;
    EXPECT_FALSE(is_plain_cbor(bytes));
    EXPECT_TRUE(json_from_cbor(bytes + '\x00').is_discarded());
  }
}

TEST(PlainCbor, RefusesWhatIsCutOffOrFollowed) {
  const std::string whole = bytes_of({{"a", {1, 2000, "text", 0.25}}, {"b", {{"c", nullptr}}}});
  ASSERT_TRUE(is_plain_cbor(whole));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(is_plain_cbor(std::string_view(whole).substr(0, size)));
  EXPECT_FALSE(is_plain_cbor(whole + "x"));
}

TEST(PlainCbor, RefusesLengthsBeyondTheEnd) {
  for (const std::string bytes :
       {"\x5b\xff\xff\xff\xff\xff\xff\xff\xff", "\x9b\xff\xff\xff\xff\xff\xff\xff\xff",
        "\xbb\x80\x00\x00\x00\x00\x00\x00\x00", "\x79\xff\xffx", "\x82\x01"})
    EXPECT_FALSE(is_plain_cbor(bytes));
}

TEST(PlainCbor, AnswersWhateverABitDoes) {
  const std::string whole = bytes_of({{"a", {1, 2000, "text", 0.25, {{"c", {{}, {}}}}}}});
  for (std::size_t i = 0; i < 8 * whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ (1 << i % 8));
    (void)json_from_cbor(damaged);  // anything but a crash
  }
}

}  // namespace
}  // namespace isomer
