#include "rules/generate/generalize.h"

#include <gtest/gtest.h>

namespace isomer::rules {
namespace {

const Extents kSmall{4, 4}, kLarge{6, 6};

GeneralInput matrix(const std::string& name) { return {.name = name, .extents = {kSmall, kLarge}}; }

// Inputs are variables 0, 1, ...; further terms follow.
std::vector<Term> side(int inputs, const std::vector<Term>& terms) {
  std::vector<Term> out;
  for (int i = 0; i < inputs; ++i) out.push_back(Term::variable(static_cast<TermId>(i)));
  out.insert(out.end(), terms.begin(), terms.end());
  return out;
}

std::string given(const Result<std::string>& rule) {
  if (!rule.ok()) return rule.error().message;
  return rule->substr(0, rule->find('\n'));
}

TEST(Generalize, SizesThatNeedNotBeEqualAreNot) {
  Words words;
  const WordId rows = words.add({.op = "Concat", .attributes = "axis = 0", .operands = 2});
  const WordId columns = words.add({.op = "Concat", .attributes = "axis = 1", .operands = 2});
  const auto rule =
      general_rule(words, side(4, {{columns, 2, {0, 1}}, {columns, 2, {2, 3}}, {rows, 2, {4, 5}}}),
                   side(4, {{rows, 2, {0, 2}}, {rows, 2, {1, 3}}, {columns, 2, {4, 5}}}),
                   {matrix("a"), matrix("b"), matrix("c"), matrix("d")});
  EXPECT_EQ(given(rule), "given float[M, K] a, float[M, K2] b, float[M2, K] c, float[M2, K2] d");
}

TEST(Generalize, HalvesAreOfWhatIsEven) {
  Words words;
  const WordId half = words.add({.op = "Split", .attributes = "axis = 0, num_outputs = 2", .outputs = 2});
  const WordId relu = words.add({.op = "Relu"});
  const auto rule = general_rule(words, side(1, {{relu, 1, {0}}, {half, 1, {1}}}),
                                 side(1, {{half, 1, {0}}, {relu, 1, {1}}}), {matrix("a")});
  EXPECT_EQ(given(rule), "given float[2*M, K] a");
}

TEST(Generalize, ElementwiseIsOfAnyRank) {
  Words words;
  const WordId relu = words.add({.op = "Relu"});
  const auto rule = general_rule(words, side(1, {{relu, 1, {0}}, {relu, 1, {1}}}), side(1, {{relu, 1, {0}}}),
                                 {matrix("a")});
  ASSERT_TRUE(rule.ok());
  EXPECT_TRUE(rule->starts_with("for s = ")) << *rule;
}

TEST(Generalize, ProductsFitWhereTheyMeet) {
  Words words;
  const WordId product = words.add({.op = "MatMul", .operands = 2});
  const auto rule = general_rule(words, side(3, {{product, 2, {0, 1}}, {product, 2, {3, 2}}}),
                                 side(3, {{product, 2, {1, 2}}, {product, 2, {0, 3}}}),
                                 {matrix("a"), matrix("b"), matrix("c")});
  EXPECT_EQ(given(rule), "given float[M, K] a, float[K, K2] b, float[K2, K3] c");
}

}  // namespace
}  // namespace isomer::rules
