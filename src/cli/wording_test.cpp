#include "cli/wording.h"

#include <gtest/gtest.h>

namespace isomer::cli {
namespace {

TEST(Wrapped, BreaksBetweenWords) {
  EXPECT_EQ(wrapped("one two three four", 9, 2), "one two\n  three\n  four");
  EXPECT_EQ(wrapped("short", 80, 4), "short");
  EXPECT_EQ(wrapped("a-word-that-is-too-long b", 10, 2), "a-word-that-is-too-long\n  b");
  EXPECT_EQ(wrapped("", 10, 2), "");
}

TEST(Wrapped, CountsCharactersNotBytes) { EXPECT_EQ(wrapped("×× ×× ××", 5, 0), "×× ××\n××"); }

TEST(Durations, AreWhatAClockWouldSay) {
  EXPECT_EQ(duration_text(0.42), "0.4 s");
  EXPECT_EQ(duration_text(12.4), "12 s");
  EXPECT_EQ(duration_text(245), "4 m 05 s");
  EXPECT_EQ(duration_text(7260), "2 h 01 m");
}

TEST(Latencies, HaveThreeDigits) {
  EXPECT_EQ(latency_text(812'000), "812 µs");
  EXPECT_EQ(latency_text(12'345'000), "12.3 ms");
  EXPECT_EQ(latency_text(3), "3 ns");
}

}  // namespace
}  // namespace isomer::cli
