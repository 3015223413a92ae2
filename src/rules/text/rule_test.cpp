#include "rules/text/rule.h"

#include <gtest/gtest.h>

namespace isomer {
namespace {

std::string error_of(const std::string& text) {
  const auto rules = parse_rules(text);
  return rules.ok() ? "" : rules.error().message;
}

constexpr const char* kSides = "left { y = Relu(x) } => y\nright { y = Relu(x) } => y\n";

TEST(RuleText, EveryChoiceOfEveryForLineIsAnInstance) {
  const auto rules = parse_rules(R"(
# two sides of one thing
rule pad_moves   # a comment
for k, p = 1 0, 3 1
for g = 1, 2, 4
given float[N, $g*C, H, W] x, float[$g*O, C, $k, $k] w
left  { y = Conv<pads = [$p, $p, $p, $p], group = $g>(x, w) } => y
right { y = Conv<pads = [$p, $p, $p, $p],
                 group = $g>(x, w) } => y
)");
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  ASSERT_EQ(rules->size(), 1u);
  const Rule& rule = (*rules)[0];
  EXPECT_EQ(rule.name, "pad_moves");
  EXPECT_EQ(rule.line, 3);
  ASSERT_EQ(rule.instances.size(), 6u);
  const RuleInstance& last = rule.instances.back();
  EXPECT_EQ(last.values,
            (std::vector<std::pair<std::string, std::string>>{{"k", "3"}, {"p", "1"}, {"g", "4"}}));
  const auto& shape = *last.left.node(last.left.inputs()[1].node).declared.shape;
  EXPECT_EQ(shape[0]->text(), "4*O");
  EXPECT_EQ(shape[2]->text(), "3");
}

TEST(RuleText, ASumThatStandsForANameIsOneFactor) {
  const auto rules = parse_rules(std::string("rule r\nfor o = \"O + D\"\ngiven float[2*$o] x\n") + kSides);
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  const RuleInstance& i = (*rules)[0].instances[0];
  EXPECT_EQ((*i.left.node(i.left.inputs()[0].node).declared.shape)[0]->text(), "2*D + 2*O");
}

TEST(RuleText, AListMayStandForAName) {
  const auto rules =
      parse_rules(std::string("rule r\nfor s = \"A, B\", \"A + 1, B, C\"\ngiven float[$s] x\n") + kSides);
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  const RuleInstance& i = (*rules)[0].instances[1];
  EXPECT_EQ(i.left.node(i.left.inputs()[0].node).declared.shape->size(), 3u);
}

TEST(RuleText, ChoicesThatARequirementExcludesAreNoInstances) {
  const auto rules =
      parse_rules(std::string("rule r\nfor g = 1, 2, 3\nrequire $g >= 2\ngiven float[$g] x\n") + kSides);
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  EXPECT_EQ((*rules)[0].instances.size(), 2u);
}

TEST(RuleText, ExtentsAreAtLeastOne) {
  const auto rules = parse_rules(std::string("rule r\ngiven float[N, C + 1] x\n") + kSides);
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  const Dims& known = (*rules)[0].instances[0].preconditions;
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].text(), "N - 1");
}

TEST(RuleText, ExpectationsAreRead) {
  const auto rules = parse_rules(std::string("rule r\ngiven float[A, B] x\n") + kSides +
                                 "expect requires A = B and A is odd\n");
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  const auto& expectation = (*rules)[0].expectation;
  ASSERT_TRUE(expectation);
  EXPECT_EQ(expectation->kind, Expectation::Kind::Requires);
  EXPECT_EQ(text(expectation->conditions), "A = B and A is odd");
}

TEST(RuleText, ErrorsNameTheLineOfTheFile) {
  const std::string head = "# one\nrule r\ngiven float[N] x\n";
  EXPECT_EQ(error_of("hello\n"), "line 1: expected 'rule'");
  EXPECT_EQ(error_of("given float[N] x\n"), "line 1: expected 'rule'");
  EXPECT_EQ(error_of(head), "line 2: r needs 'given', 'left' and 'right'");
  EXPECT_EQ(error_of(head + "left { y = Relu(z) } => y\nright { y = Relu(x) } => y\n"),
            "line 4, column 17: z is not defined before this");
  EXPECT_EQ(error_of(head + "left { y = Relu(x)\n} => y\nright {\n  y = Relu(q) } => y\n"),
            "line 7, column 12: q is not defined before this");
  EXPECT_EQ(error_of(head + "left { y = Relu(x)\n"), "line 4: '{' without '}'");
  EXPECT_EQ(error_of(head + "left y = Relu(x) } => y\n"), "line 4: '}' without '{'");
  EXPECT_EQ(error_of(head + "left { y = Relu(x) } y\n" + "right { y = Relu(x) } => y\n"),
            "line 4: expected '=> OUTPUT, ...' after '}'");
  EXPECT_EQ(error_of(head + kSides + "left { y = Relu(x) } => y\n"), "line 6: a second 'left'");
  EXPECT_EQ(error_of(head + kSides + "rule r\ngiven float[N] x\n" + kSides), "line 6: a second rule r");
}

TEST(RuleText, MistakesInNamesAndExtentsAreRefused) {
  const auto with_given = [](const std::string& given) {
    return error_of("rule r\ngiven " + given + "\n" + kSides);
  };
  EXPECT_EQ(with_given("float[$n] x"), "line 2: no 'for' line gives $n values");
  EXPECT_EQ(with_given("floot[N] x"), "line 2, column 7: 'floot' is no element type");
  EXPECT_EQ(with_given("float[N +] x"), "line 2, column 16: expected an integer, a name or '('");
  EXPECT_EQ(with_given("float[N] x, float[N] x"), "line 2, column 28: x is given twice");
  EXPECT_EQ(with_given("float[N x"), "line 2, column 15: expected ']'");
  EXPECT_NE(with_given("float[" + std::string(100, '(') + "N] x"), "");
}

// No operator may ignore what a rule says of it: the right side would be the left one.
TEST(RuleText, CallsThatNoFileMayHaveAreRefused) {
  const auto error_with = [](const std::string& call) {
    return error_of("rule r\ngiven float[N, M] x\nleft { y = Relu(x) } => y\nright { y = " + call +
                    " } => y\n");
  };
  EXPECT_EQ(error_with("Relu(x)"), "");
  EXPECT_EQ(error_with("Relu<banana = 3>(x)"),
            "line 4, column 9: Relu: attribute banana is unknown to Relu of version 14");
  EXPECT_EQ(error_with("ReduceMean<axes = [1]>(x)"),
            "line 4, column 9: ReduceMean: attribute axes is unknown to ReduceMean of version 18");
  EXPECT_EQ(error_with("LeakyRelu<alpha = 1>(x)"),
            "line 4, column 9: LeakyRelu: attribute alpha must be a float, is an int");
  EXPECT_EQ(error_with("Concat(x, x)"),
            "line 4, column 9: Concat: attribute axis is missing, and Concat needs it");
  EXPECT_EQ(error_with("Relu(x, x)"),
            "line 4, column 9: Relu: has 2 inputs where Relu of version 14 takes 1");
}

TEST(RuleText, MistakesInForLinesAreRefused) {
  const auto with_for = [](const std::string& line) {
    return error_of("rule r\n" + line + "\ngiven float[N] x\n" + kSides);
  };
  EXPECT_EQ(with_for("for k, p = 1 0, 3"), "line 2: a choice of 1 values for 2 names");
  EXPECT_EQ(with_for("for k"), "line 2: expected 'for NAME, ... = VALUES, ...'");
  EXPECT_EQ(with_for("for k = \"a"), "line 2: the string has no end");
  EXPECT_EQ(with_for("for k = 1\nfor k = 2"), "line 1: two 'for' lines give k values");
  EXPECT_EQ(with_for("for N = 1"), "line 1: N is both a dimension and given values by a 'for' line");
  EXPECT_EQ(with_for("require 1 = 2"), "line 1: no choice satisfies what is required");
  EXPECT_EQ(with_for("require N"), "line 2, column 10: expected '=', '>=' or 'is odd'");
}

}  // namespace
}  // namespace isomer
