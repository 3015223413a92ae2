#include "optimizer/propose/list.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace isomer {
namespace {

TEST(Proposers, SayAllThatPeopleReadOfThem) {
  std::set<std::string_view> names;
  for (const Proposer* p : proposers()) {
    EXPECT_TRUE(names.insert(p->name).second) << p->name;
    EXPECT_EQ(proposer_named(p->name), p);
    EXPECT_FALSE(p->title.empty() || p->law.empty()) << p->name;
    EXPECT_TRUE(p->finds.ends_with('.')) << p->name;
    EXPECT_TRUE(p->remark.empty() || p->summary.empty()) << p->name;
  }
  EXPECT_EQ(proposer_named("no such name"), nullptr);
}

TEST(Proposers, AreTheTableOfTheReference) {
  constexpr std::string_view kBegin = "<!-- proposers -->\n", kEnd = "<!-- /proposers -->";
  std::string table = "| proposer | what it does |\n|---|---|\n";
  for (const Proposer* p : proposers()) table += fmt::format("| `{}` | {} |\n", p->name, p->finds);
  std::stringstream text;
  text << std::ifstream(ISOMER_SOURCE_DIR "/docs/reference/proposers.md").rdbuf();
  const std::string page = text.str();
  const auto begin = page.find(kBegin), end = page.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos);
  EXPECT_EQ(page.substr(begin + kBegin.size(), end - begin - kBegin.size()), table)
      << "copy this into docs/reference/proposers.md:\n"
      << table;
}

}  // namespace
}  // namespace isomer
