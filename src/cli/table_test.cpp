#include "cli/table.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/wording.h"

namespace isomer::cli {
namespace {

TEST(Table, AlignsColumnsAndLeavesNoSpaceAtTheEndOfALine) {
  Table table({{"operator"}, {"count", Table::Align::Right}, {"note"}});
  table.add({"Conv", "53", ""});
  table.add({"Größe", "1,000", "x"});
  EXPECT_EQ(table.text(),
            "  operator  count  note\n"
            "  Conv         53\n"
            "  Größe     1,000  x\n");
}

TEST(Table, CanDoWithoutAHead) {
  auto table = Table::without_head(2);
  table.add({"a", "b"});
  EXPECT_EQ(table.text(), "  a  b\n");
}

TEST(Wording, GivesThreeDigitsAndAUnit) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024), "1.00 KiB");
  EXPECT_EQ(bytes_text(102'400'000), "97.7 MiB");
  EXPECT_EQ(bytes_text((1ULL << 30) - 1), "1.00 GiB");
  EXPECT_EQ(bytes_text(8ULL << 30), "8.00 GiB");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(25'557), "25.6 k");
  EXPECT_EQ(count_text(999'999), "1.00 M");
  EXPECT_EQ(count_text(4.09e9), "4.09 G");
}

TEST(Wording, GroupsDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(1234567), "1,234,567");
}

TEST(Wording, KeepsNamesFromSpeakingForUs) {
  EXPECT_EQ(printable("/conv1/Größe 中"), "/conv1/Größe 中");
  EXPECT_EQ(printable("a\nisomer: all fine\x1b[2J"), "a\\x0aisomer: all fine\\x1b[2J");
  EXPECT_EQ(printable("\xff\xc0\xaf\xed\xa0\x80"), "\\xff\\xc0\\xaf\\xed\\xa0\\x80");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae");
}

TEST(Wording, ShortensByCharactersNotBytes) {
  EXPECT_EQ(shortened("größer", 6), "größer");
  EXPECT_EQ(shortened("größere", 6), "grö...");
}

TEST(Table, FitsIntoItsColumns) {
  Table table({{"name", Table::Align::Left}, {"count", Table::Align::Right}, {"reason", Table::Align::Left}});
  table.add({"a_name_that_is_very_long_indeed", "1", "a reason of several words that goes on"});
  const std::string text = table.text(40);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(width(line), 40u) << text;
  EXPECT_NE(text.find("goes on"), std::string::npos) << text;  // wrapped, not cut
  EXPECT_NE(text.find("..."), std::string::npos) << text;      // cut
}

}  // namespace
}  // namespace isomer::cli
