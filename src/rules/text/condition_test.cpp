#include "rules/text/condition.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "rules/text/rule.h"

namespace isomer {
namespace {

RuleInstance instance(const std::string& dims, const std::string& values = "") {
  const auto rules =
      parse_rules("rule r\n" + (values.empty() ? "" : "for " + values + "\n") + "given float[" + dims +
                  "] x\nleft { y = Relu(x) } => y\nright { y = Relu(x) } => y\n");
  if (!rules.ok()) ADD_FAILURE() << rules.error().message;
  return (*rules)[0].instances[0];
}

Condition condition(const std::string& text) {
  Scanner scanner(text);
  const auto parsed = parse_condition(scanner);
  if (!parsed.ok()) ADD_FAILURE() << parsed.error().message;
  return *parsed;
}

std::string shape(const RuleInstance& i) {
  std::string out;
  for (const auto& d : *i.left.node(i.left.inputs()[0].node).declared.shape) out += d->text() + ";";
  return out;
}

// The input's extents under a condition, or why there are none.
std::string under(const std::string& text, const RuleInstance& i) {
  const Imposed imposed = impose(condition(text), i);
  switch (imposed.outcome) {
    case Imposed::Outcome::Excluded: return "excluded";
    case Imposed::Outcome::NotSolved: return "not solved";
    case Imposed::Outcome::Kept: break;
  }
  return shape(*imposed.instance);
}

TEST(Condition, EquationsAreSolvedForOneOfTheirSymbols) {
  EXPECT_EQ(under("C = 1", instance("N, 2*C")), "N;2;");
  EXPECT_EQ(under("N = C", instance("N, C")), "N;N;");
  EXPECT_EQ(under("2*N = 4*C + 6", instance("N, C")), "2*C + 3;C;");
}

TEST(Condition, EnumeratedValuesDecideOrAreSolved) {
  EXPECT_EQ(under("g = 1", instance("$g*C", "g = 1")), "C;");
  EXPECT_EQ(under("g = 1", instance("$g*C", "g = 2")), "excluded");
  EXPECT_EQ(under("a = b", instance("$a, $b", "a, b = \"O + 2*D\" O")), "O;O;");
}

TEST(Condition, OddSizesAreWrittenAsSuch) {
  EXPECT_EQ(under("H is odd", instance("H")), "2*H + 1;");
  EXPECT_EQ(under("H is odd", instance("2*H")), "4*H + 2;");
  EXPECT_EQ(under("e is odd", instance("$e", "e = 2*H")), "excluded");
  EXPECT_EQ(under("e is odd", instance("$e", "e = \"H + 1\"")), "2*H + 1;");
}

TEST(Condition, WhatHasNoWholeSolutionInOneSymbolIsNotSolved) {
  EXPECT_EQ(under("2*N = 3*C", instance("N, C")), "not solved");
  EXPECT_EQ(under("N*C = 6", instance("N, C")), "not solved");
}

TEST(Condition, AtLeastIsAPrecondition) {
  const Imposed imposed = impose(condition("H >= 3"), instance("H"));
  ASSERT_TRUE(imposed.instance);
  EXPECT_EQ(imposed.instance->preconditions.back().text(), "H - 3");
}

// Solving H = W - 2 must not let H become negative.
TEST(Condition, ASolvedSymbolStaysAtLeastZero) {
  const Imposed imposed = impose(condition("H = W - 2"), instance("H"));
  ASSERT_TRUE(imposed.instance);
  const auto& known = imposed.instance->preconditions;
  EXPECT_NE(std::ranges::find(known, Dim::symbol("W") - 2), known.end());
}

}  // namespace
}  // namespace isomer
