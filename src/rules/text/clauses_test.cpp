#include "rules/text/clauses.h"

#include <gtest/gtest.h>

namespace isomer {
namespace {

constexpr const char* kInLines =
    "rule r\nfor s = M, \"M, K\"\ngiven float[$s] x\nleft { t = Relu(x)\n        y = Relu(t) } => y\n"
    "right { y = Relu(x) } => y\n";
constexpr const char* kOnOne =
    "rule r; for s = M, \"M, K\"; given float[$s] x; left { t = Relu(x) y = Relu(t) } => y; "
    "right { y = Relu(x) } => y";

TEST(Clauses, AreWrittenOnOneLineAndInSeveral) {
  std::string commented = kOnOne;
  commented.append("  # says; more\n");  // not +: GCC 12 then warns of an overrun that cannot happen
  const auto lines = clauses_of(kInLines), one = clauses_of(commented);
  ASSERT_TRUE(lines.ok() && one.ok());
  EXPECT_EQ(on_one_line(*lines), kOnOne);
  EXPECT_EQ(on_one_line(*one), kOnOne);
  EXPECT_EQ(in_lines(*one), in_lines(*lines));
}

TEST(Clauses, HaveTheirPlaceInTheFile) {
  const auto clauses = clauses_of("# a comment; rule no\nrule a; given float[N] x\n\nleft {\n");
  ASSERT_FALSE(clauses.ok());
  EXPECT_EQ(clauses.error().message, "line 4: '{' without '}'");
  const auto two = clauses_of("rule a; given float[N] x\nrule b; given float[N] rule\n");
  ASSERT_TRUE(two.ok());
  ASSERT_EQ(two->size(), 4u);
  EXPECT_EQ(two->at(3).line, 2);
  EXPECT_EQ(two->at(3).column, 13u);
  EXPECT_EQ(two->at(3).text, " float[N] rule");
}

TEST(Clauses, OnlyASemicolonBeginsOneInsideOfALine) {
  const auto clauses = clauses_of("rule a; given float[N] left, float[N] right\n");
  ASSERT_TRUE(clauses.ok());
  EXPECT_EQ(clauses->size(), 2u);
  EXPECT_EQ(clauses_of("rule a; gven float[N] x\n").error().message, "line 1: expected a clause after ';'");
  EXPECT_TRUE(clauses_of("rule a;\ngiven float[N] x;  # all\n").ok());
  EXPECT_EQ(clauses_of("for s = \"a; given b\"\n")->size(), 1u);
}

}  // namespace
}  // namespace isomer
