#include "rules/text/prove_rule.h"

#include <gtest/gtest.h>

namespace isomer {
namespace {

using Outcome = RuleVerdict::Outcome;

Rule rule(const std::string& body) {
  const auto rules = parse_rules("rule r\n" + body);
  if (!rules.ok()) ADD_FAILURE() << rules.error().message;
  return (*rules)[0];
}

// What a rule needs: "" if nothing.
std::string needs(const RuleVerdict& verdict) {
  std::string out;
  for (const Conditions& c : verdict.weakest) out += (out.empty() ? "" : "; ") + text(c);
  return out;
}

TEST(ProveRule, ProvesForAllSizes) {
  const Rule r = rule(R"(
given float[M, K] x, float[K, N] w, float[N, P] v
left  { t = MatMul(x, w)  y = MatMul(t, v) } => y
right { t = MatMul(w, v)  y = MatMul(x, t) } => y
expect proved)");
  const RuleVerdict verdict = prove_rule(r);
  EXPECT_EQ(verdict.outcome, Outcome::Proved) << verdict.why;
  EXPECT_TRUE(is_as_expected(r, verdict));
}

// The enumeration's limits: the same answers, within fewer operations on sets.
TEST(ProveRule, CandidatesAreDecidedTheSameWay) {
  for (const auto& [body, outcome] :
       {std::pair(R"(given float[N, C, H, W] x, float[K, C, R, S] w, float[K, C, R, S] v
left  { s = Conv(x, w)  t = Conv(x, v)  y = Add(s, t) } => y
right { t = Add(w, v)  y = Conv(x, t) } => y)",
                  Outcome::Proved),
        std::pair(R"(given float[M, K] x, float[K, N] w
left  { t = MatMul(x, w)  y = Relu(t) } => y
right { t = Relu(x)  y = MatMul(t, w) } => y)",
                  Outcome::Refuted)}) {
    EXPECT_EQ(prove_candidate(rule(body)).outcome, outcome);
    EXPECT_EQ(prove_rule(rule(body)).outcome, outcome);
  }
}

TEST(ProveRule, RefutesWithAnInputWhereNoPreconditionHelps) {
  const Rule r = rule(R"(
given float[M, K] x, float[K, N] w
left  { t = MatMul(x, w)  y = Relu(t) } => y
right { t = Relu(x)  y = MatMul(t, w) } => y
expect proved)");
  const RuleVerdict verdict = prove_rule(r);
  EXPECT_EQ(verdict.outcome, Outcome::Refuted);
  ASSERT_TRUE(verdict.counterexample);
  EXPECT_NE(verdict.counterexample->refuted.a, verdict.counterexample->refuted.b);
  EXPECT_FALSE(is_as_expected(r, verdict));
}

TEST(ProveRule, FindsThatTheGroupCountMustBeOne) {
  const RuleVerdict verdict = prove_rule(rule(R"(
for g = 1, 2
given float[N, $g*C, H, W] x, float[$g*O, C, 3, 3] w, float[$g*P, C, 3, 3] v
left  { a = Conv<group = $g, pads = [1, 1, 1, 1]>(x, w)  b = Conv<group = $g, pads = [1, 1, 1, 1]>(x, v)
        y = Concat<axis = 1>(a, b) } => y
right { a = Concat<axis = 0>(w, v)  y = Conv<group = $g, pads = [1, 1, 1, 1]>(x, a) } => y)"));
  EXPECT_EQ(verdict.outcome, Outcome::Conditional);
  EXPECT_EQ(needs(verdict), "g = 1");
  ASSERT_TRUE(verdict.counterexample);
  EXPECT_EQ(verdict.counterexample->values[0].second, "2");
}

// x xᵀ = xᵀ x is false; of one row and one column it is true. Both conditions are needed: a pair.
TEST(ProveRule, FindsPairsWhereNoSingleConditionIsEnough) {
  const RuleVerdict verdict = prove_rule(rule(R"(
for a, b = 0 0, 0 1, 1 0, 1 1
given float[M] x
left  { p = Constant<value_float = $a.0>()  q = Constant<value_float = $b.0>()
        s = Add(p, q)  y = Mul(x, s) } => y
right { y = Sub(x, x) } => y)"));
  EXPECT_EQ(verdict.outcome, Outcome::Conditional);
  EXPECT_EQ(needs(verdict), "a = 0 and b = 0");
}

// Transposing a matrix of one row is reshaping it; so is it for one column. Neither implies the other.
TEST(ProveRule, KeepsAllConditionsOfWhichNoneIsWeaker) {
  const RuleVerdict verdict = prove_rule(rule(R"(
given float[2, K, M] x
left  { y = ReduceSum<keepdims = 1>(x) } => y
right { a = Constant<value_ints = [0, 1]>()  b = Constant<value_ints = [2]>()
        t = ReduceSum<keepdims = 1>(x, a)  y = ReduceMax<keepdims = 1>(t, b) } => y)"));
  EXPECT_EQ(verdict.outcome, Outcome::Conditional) << verdict.why;
  EXPECT_EQ(needs(verdict), "M = 1");
}

// Under `a = b` the extents agree, under `a = 1` they don't have to: the weaker one is kept alone.
TEST(ProveRule, DropsWhatImpliesAnotherCondition) {
  const RuleVerdict verdict = prove_rule(rule(R"(
for g, h = 1 1, 2 2, 1 2
given float[A, B] x
left  { p = Constant<value_float = $g.0>()  y = Mul(x, p) } => y
right { p = Constant<value_float = $h.0>()  y = Mul(x, p) } => y)"));
  EXPECT_EQ(verdict.outcome, Outcome::Conditional) << verdict.why;
  EXPECT_EQ(needs(verdict), "g = h");
}

TEST(ProveRule, ARequirementIsTakenForGranted) {
  const RuleVerdict verdict = prove_rule(rule(R"(
require M = 1
given float[K, M] x
left  { a = Constant<value_ints = [1]>()  y = ReduceSum<keepdims = 1>(x, a) } => y
right { a = Constant<value_ints = [1]>()  y = ReduceMax<keepdims = 1>(x, a) } => y)"));
  EXPECT_EQ(verdict.outcome, Outcome::Proved) << verdict.why;
}

}  // namespace
}  // namespace isomer
