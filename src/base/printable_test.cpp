#include "base/printable.h"

#include <gtest/gtest.h>

namespace isomer {
namespace {

TEST(Printable, LeavesTextOfAnyLanguageAlone) {
  EXPECT_EQ(printable("/conv1/Größe 中 🙂"), "/conv1/Größe 中 🙂");
  EXPECT_EQ(printable("\u00a0"), "\u00a0");  // the first character behind the controls
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, EscapesWhatMovesTheCursorOrEndsTheLine) {
  EXPECT_EQ(printable("a\nisomer: all fine\x1b[2J\r\t\x7f"), "a\\x0aisomer: all fine\\x1b[2J\\x0d\\x09\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "5A"),
            "\\xc2\\x9b5A");  // U+009B, as UTF-8
  EXPECT_EQ(printable("\x9b"
                      "5A"),
            "\\x9b5A");                                                    // and as one byte
  EXPECT_EQ(printable("\u2028\u2029"), "\\xe2\\x80\\xa8\\xe2\\x80\\xa9");  // separators of lines, paragraphs
  EXPECT_EQ(printable(std::string_view("\0x", 2)), "\\x00x");
}

TEST(Printable, EscapesWhatTurnsTheDirectionOfWriting) {
  for (const std::string_view mark : {"\u061c", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069"}) {
    const std::string shown = printable(mark);
    EXPECT_EQ(shown.size(), 4 * mark.size());
    EXPECT_EQ(shown.substr(0, 2), "\\x");
  }
}

TEST(Printable, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("\xff\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80"),
            "\\xff\\xc0\\xaf\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");  // a character that is cut off
}

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_EQ(printable("abcd", 3), "abc...");
  EXPECT_EQ(printable("ü中x", 3), "ü中...");
}

TEST(Printable, LinesKeepTheirEndsAndNothingElse) {
  EXPECT_EQ(printable_lines("a\n\tb\r\n\x1b[0J\xc2\x9b"), "a\n\tb\\x0d\n\\x1b[0J\\xc2\\x9b");
}

}  // namespace
}  // namespace isomer
