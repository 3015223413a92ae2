#include "base/base64.h"

#include <gtest/gtest.h>

namespace isomer {
namespace {

TEST(Base64, IsThatOfTheStandard) {  // RFC 4648, section 10
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
}

TEST(Base64, GivesEveryByteBack) {
  std::string bytes;
  for (int k = 0; k < 512; ++k) {
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
    bytes += static_cast<char>(k * 37);
  }
}

TEST(Base64, ReadsOneTextOfEachOnly) {
  for (const char* text :
       {"Zg", "Zg=", "Zg===", "Zh==", "Zm9v=", "Zm9vZ", "Z", "=", "Zm 9", "Zm9v\n", "Zg==Zg==", "Zm-_"})
    EXPECT_FALSE(from_base64(text)) << text;
}

}  // namespace
}  // namespace isomer
