#include "rules/generate.h"

#include <gtest/gtest.h>

#include "rules/derive.h"

namespace isomer::rules {
namespace {

// A part of the vocabulary, to be quick.
GenerateOptions small(int threads) {
  return {
      .operators = 2, .threads = threads, .only = {"MatMul", "Relu", "Transpose", "Add", "Concat", "Split"}};
}

const GeneratedPack& of_two() {
  static const GeneratedPack pack = generate_rules(small(2));
  return pack;
}

std::vector<Rule> parsed(const std::string& text) {
  auto parsed = parse_rules(text);
  if (!parsed.ok()) throw std::runtime_error(parsed.error().message);
  return std::move(parsed).value();
}

// Whether a rule follows from a pack in so many steps.
bool follows(const std::string& pack, const std::string& rule, int steps) {
  Words words;
  EquationIndex index;
  const std::vector<Rule> known = parsed(pack);
  for (std::size_t i = 0; i < known.size(); ++i)
    for (Equation& e : equations_of(words, known[i], i)) index.add(std::move(e));
  return derive_rule(words, index, parsed("rule r\n" + rule)[0], {.steps = steps}).has_value();
}

TEST(Generate, FindsKnownLawsOfTwoOperators) {
  const std::string& pack = of_two().text;
  for (const char* law : {R"(given float[M, K] x, float[K, N] w, float[N, P] v
left  { t = MatMul(x, w)  y = MatMul(t, v) } => y
right { t = MatMul(w, v)  y = MatMul(x, t) } => y)",
                          R"(given float[N, C, H, W] x
left  { t = Relu(x)  y = Relu(t) } => y
right { y = Relu(x) } => y)",
                          R"(given float[M, K] x
left  { t = Transpose<perm = [1, 0]>(x)  y = Transpose<perm = [1, 0]>(t) } => y
right { y = Identity(x) } => y)",
                          R"(given float[N, C, H, W] x, float[N, C, H, W] z, float[N, C, H, W] t
left  { u = Add(x, z)  y = Add(u, t) } => y
right { u = Add(t, x)  y = Add(z, u) } => y)"})
    EXPECT_TRUE(follows(pack, law, 1)) << law;
}

TEST(Generate, FalseLawsDoNotFollow) {
  EXPECT_FALSE(follows(of_two().text, R"(given float[M, K] x, float[K, N] w
left  { t = MatMul(x, w)  y = Relu(t) } => y
right { t = Relu(x)  y = MatMul(t, w) } => y)",
                       2));
  // Halves that are no halves: the rule's sizes do not fit.
  EXPECT_FALSE(follows(of_two().text, R"(given float[M, K] x, float[M2, K] z
left  { t = Concat<axis = 0>(x, z)  y, u = Split<axis = 0, num_outputs = 2>(t) } => y
right { y = Identity(x) } => y)",
                       2));
}

TEST(Generate, IsTheSameForAnyNumberOfThreads) { EXPECT_EQ(generate_rules(small(1)).text, of_two().text); }

TEST(Generate, WhatIsNotProvedIsNotKept) {
  // As if two values had matched by accident: refused, whatever the fingerprints said.
  std::string text = R"(given float[M, K] x, float[M, K] z
left  { t = Relu(x)  y = Add(t, z) } => y
right { t = Add(x, z)  y = Relu(t) } => y)";
  EXPECT_EQ(decide_candidate(text), "refuted");
  text = R"(given float[M, K] x
left  { t = Relu(x)  y = Relu(t) } => y
right { y = Relu(x) } => y)";
  EXPECT_EQ(decide_candidate(text), "");
}

TEST(Generate, EveryRuleOfThePackCanBeReadAndNoneIsAContradiction) {
  const std::vector<Rule> all = parsed(of_two().text);
  EXPECT_EQ(all.size(), of_two().rules);
  EXPECT_TRUE(of_two().is_complete);
  EXPECT_GT(all.size(), 30u);
}

TEST(Generate, HalvesAreOneRule) {
  EXPECT_NE(of_two().text.find("=> v1a, v1b"), std::string::npos);
  EXPECT_TRUE(follows(of_two().text, R"(given float[M, K] x, float[M, K] z
left  { t = Concat<axis = 0>(x, z)  y, u = Split<axis = 0, num_outputs = 2>(t) } => u, y
right { y = Identity(z)  u = Identity(x) } => y, u)",
                      1));
}

TEST(Generate, CountsFallFromStageToStage) {
  for (const GenerateStage& s : of_two().stages) {
    EXPECT_GE(s.enumerated.terms, s.enumerated.computed);
    EXPECT_GE(s.enumerated.candidates, s.after_renaming);
    EXPECT_GE(s.after_renaming, s.after_common);
    EXPECT_GE(s.after_common, s.after_derivability);
    EXPECT_GE(s.after_derivability, s.proved + s.conditional);
  }
}

}  // namespace
}  // namespace isomer::rules
