#include "rules/text/pattern.h"

#include <gtest/gtest.h>

#include "rules/text/rule_book.h"
#include "rules/text/widened.h"

namespace isomer::rules {
namespace {

std::vector<Pattern> patterns(const std::string& text) {
  const auto rules = parse_rules(text);
  EXPECT_TRUE(rules.ok());
  return rules.ok() ? patterns_of((*rules)[0]) : std::vector<Pattern>();
}

const std::string kMerge =
    "rule merge\n"
    "given float[M, K] x, float[K, A] a, float[K, B] b\n"
    "left  { s = MatMul(x, a)\n t = MatMul(x, b)\n y = Concat<axis = 1>(s, t) } => y\n"
    "right { w = Concat<axis = 1>(a, b)\n y = MatMul(x, w) } => y\n";

TEST(Pattern, ReadsARuleInBothDirectionsAndAsSiblings) {
  const auto found = patterns(kMerge);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_TRUE(found[0].is_divided);
  EXPECT_EQ(found[0].from.outputs.size(), 2u);
  EXPECT_EQ(found[1].from.nodes.back().op, "Concat");
  EXPECT_EQ(found[2].from.nodes.back().op, "MatMul");
}

TEST(Pattern, LeavesOutADirectionThatWouldInventAValue) {
  const auto found = patterns(
      "rule zero\ngiven float[M] x, float[M] z\n"
      "left { y = Sub(x, x) } => y\nright { t = Sub(x, x)\n u = Sub(z, z)\n y = Add(t, u) } => y\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].from.nodes.back().op, "Add");
}

TEST(Pattern, ForgetsWhatTheInstancesOfARuleDifferIn) {
  EXPECT_EQ(patterns("rule g\nfor g = 1, 2, 4\ngiven float[N, $g*C, H, W] x, float[$g*O, C, 3, 3] w\n"
                     "left { t = Conv<group = $g>(x, w)\n y = Neg(t) } => y\n"
                     "right { t = Neg(x)\n y = Conv<group = $g>(t, w) } => y\n")
                .size(),
            2u);
}

TEST(Widened, JoinsAsManyPartsAsThereAre) {
  for (const Pattern& p : patterns(kMerge)) {
    const auto wide = widened(p, 4);
    if (p.from.nodes.back().op == "MatMul" && !p.is_divided) {
      EXPECT_EQ(wide, nullptr);
      continue;
    }
    ASSERT_NE(wide, nullptr);
    EXPECT_EQ(wide->from.outputs.size(), p.is_divided ? 4u : 1u);
    const PatternNode& product = wide->to.nodes[wide->to.outputs[0].node];
    ASSERT_EQ(product.op, "MatMul");
    EXPECT_EQ(wide->to.nodes[product.operands()[1].node].inputs.size(), 4u);
  }
}

TEST(Widened, LeavesPartsThatAreNotAlike) {
  for (const Pattern& p : patterns("rule unlike\ngiven float[M, K] x, float[M, K] y\n"
                                   "left { s = Relu(x)\n t = Neg(y)\n z = Concat<axis = 0>(s, t) } => z\n"
                                   "right { s = Neg(y)\n t = Relu(x)\n z = Concat<axis = 0>(t, s) } => z\n"))
    EXPECT_EQ(widened(p, 3), nullptr);
}

TEST(RuleBook, ParsesOnlyWhatMayMatch) {
  const RuleBook book(kMerge +
                      "rule neg # a comment\ngiven float[M] x\n"
                      "left { t = Neg(x)\n y = Neg(t) } => y\nright { y = Identity(x) } => y\n");
  EXPECT_EQ(book.size(), 2u);
  EXPECT_EQ(book.parsed(), 0u);
  EXPECT_EQ(book.patterns({"Conv", "Relu"})->size(), 0u);
  EXPECT_EQ(book.parsed(), 0u);
  EXPECT_GT(book.patterns({"MatMul"})->size(), 0u);
  EXPECT_EQ(book.parsed(), 1u);
}

TEST(RuleBook, ReadsThePackOfTheProgram) {
  EXPECT_GT(generated_rules().size(), 1000u);
  EXPECT_GT(generated_rules().patterns({"Conv", "Add"})->size(), 0u);
  EXPECT_LT(generated_rules().parsed(), generated_rules().size());
}

}  // namespace
}  // namespace isomer::rules
