#include "cli/reason_words.h"

#include <gtest/gtest.h>

namespace isomer::cli {
namespace {

TEST(ReasonWords, SayWhatIsNotKnown) {
  EXPECT_EQ(plain_reason("output y: undecided: nothing is known of v52"),
            "output y: v52 has no definition here, or no known size");
}

TEST(ReasonWords, LeaveSetsOut) {
  EXPECT_EQ(plain_reason("they differ at [N] -> { [i] : 0 <= i < N } and { [0] }"),
            "they differ at ... and ...");
  EXPECT_EQ(plain_reason("an open { brace"), "an open { brace");
}

TEST(ReasonWords, SayThatNothingWasFound) {
  EXPECT_EQ(plain_reason("output y: output 0: not proved at { [i0] : 0 <= i0 <= 7 }"),
            "output y: neither a proof nor an input that shows a difference was found");
}

TEST(ReasonWords, KeepWhatIsPlain) { EXPECT_EQ(plain_reason("the time is up"), "the time is up"); }

}  // namespace
}  // namespace isomer::cli
