#include "rules/generate/generate.h"

#include <gtest/gtest.h>

#include "rules/generate/derive.h"
#include "rules/generate/vocabulary.h"

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

// Whether a rule follows from a pack in this number of steps.
bool follows(const std::string& pack, const std::string& rule, int steps, bool is_straight = false) {
  Words words;
  EquationIndex index;
  const std::vector<Rule> known = parsed(pack);
  for (std::size_t i = 0; i < known.size(); ++i)
    for (Equation& e : equations_of(words, known[i], i)) index.add(std::move(e));
  return derive_rule(words, index, parsed("rule r\n" + rule)[0], {.steps = steps, .is_straight = is_straight})
      .has_value();
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

// Such a way costs more in between than at both ends.
TEST(Derive, AWayThroughALargerTermIsNotStraight) {
  const std::string pack = R"(rule enlarged
given float[N, C, H, W] x, float[O, C, 1, 1] p
left  { y = Conv(x, p) } => y
right { c = Constant<value_ints = [0, 0, 1, 1, 0, 0, 1, 1]>()
        q = Pad(p, c)
        y = Conv<pads = [1, 1, 1, 1]>(x, q) } => y
rule added
given float[N, C, H, W] x, float[O, C, 3, 3] w, float[O, C, 3, 3] v
left  { s = Conv<pads = [1, 1, 1, 1]>(x, w)  t = Conv<pads = [1, 1, 1, 1]>(x, v)  y = Add(s, t) } => y
right { u = Add(w, v)  y = Conv<pads = [1, 1, 1, 1]>(x, u) } => y
)";
  const std::string both = R"(given float[N, C, H, W] x, float[O, C, 3, 3] w, float[O, C, 1, 1] p
left  { s = Conv<pads = [1, 1, 1, 1]>(x, w)  t = Conv(x, p)  y = Add(s, t) } => y
right { c = Constant<value_ints = [0, 0, 1, 1, 0, 0, 1, 1]>()
        q = Pad(p, c)
        u = Add(w, q)
        y = Conv<pads = [1, 1, 1, 1]>(x, u) } => y)";
  EXPECT_TRUE(follows(pack, both, 2));
  EXPECT_FALSE(follows(pack, both, 2, true));
  EXPECT_FALSE(follows(pack, both, 3, true));
}

// With the sizes of both parts equal, as they are where values are computed, it follows from two other rules.
TEST(Generate, WhatFollowsOnlyWhereSizesAreEqualIsKeptForAllSizes) {
  const GeneratedPack pack =
      generate_rules({.operators = 3, .threads = 2, .only = {"Concat", "ReduceSum", "Add"}});
  EXPECT_TRUE(follows(pack.text, R"(given float[M, K] x, float[M2, K] z
left  { c = Constant<value_ints = [0]>()  t = Concat<axis = 0>(x, z)  y = ReduceSum(t, c) } => y
right { c = Constant<value_ints = [0]>()  t = ReduceSum(x, c)  u = ReduceSum(z, c)  y = Add(t, u) } => y)",
                      1));
}

TEST(Generate, WhatIsNotDecidedPrunesNothing) {
  // The first law of two Relus, which is of matrices, is left open; the same law of other tensors is found.
  bool is_first = true;
  GenerateOptions options{.operators = 2, .threads = 1, .only = {"Relu"}};
  options.prove = [&](const Rule& rule) {
    return std::exchange(is_first, false) ? RuleVerdict{.why = "left open by the test"} : prove_rule(rule);
  };
  const GeneratedPack pack = generate_rules(options);
  EXPECT_EQ(pack.stages[1].dropped.at("undecided: left open by the test"), 1u);
  EXPECT_TRUE(follows(pack.text, R"(given float[M, K] x
left  { t = Relu(x)  y = Relu(t) } => y
right { y = Relu(x) } => y)",
                      1));
}

TEST(Generate, WhatFollowsFromTheUndecidedIsAskedLastAndWithinABound) {
  GenerateOptions options{.operators = 3, .threads = 1, .only = {"Add"}};
  options.prove = [](const Rule&) { return RuleVerdict{.why = "left open by the test"}; };
  options.most_doubtful = 4;
  const GeneratedPack pack = generate_rules(options);
  EXPECT_GT(pack.stages[2].doubtful, 4u);
  EXPECT_EQ(pack.stages[2].doubtful_left_out, pack.stages[2].doubtful - 4);
  EXPECT_FALSE(pack.is_complete);
}

// Through its text, as another process would read it.
ShardText written_and_read(const ShardText& shard) {
  auto read = ShardText::parse(shard.text());
  if (!read.ok()) throw std::runtime_error(read.error().message);
  return std::move(read).value();
}

TEST(Generate, ShardsAreMergedToTheSamePack) {
  const GenerateOptions options = small(1);
  for (const int count : {1, 3}) {
    std::vector<ShardText> shards;
    std::size_t proposed = 0;
    for (int i = count; i >= 1; --i) {
      shards.push_back(written_and_read(*propose_shard(options, {.index = i, .of = count})));
      EXPECT_TRUE(is_shard_of(shards.back(), options, {.index = i, .of = count}));
      EXPECT_FALSE(is_shard_of(shards.back(), options, {.index = i, .of = count + 1}));
      proposed += shards.back().proposed.empty() ? 0 : 1;
    }
    EXPECT_EQ(proposed, static_cast<std::size_t>(count));  // each has its part
    const auto merged = merge_shards(std::move(shards), {.threads = 2});
    ASSERT_TRUE(merged.ok());
    EXPECT_EQ(merged->text, of_two().text);
    EXPECT_EQ(merged->stages.back().enumerated.terms, of_two().stages.back().enumerated.terms);
    EXPECT_EQ(merged->stages.back().proved, of_two().stages.back().proved);
  }
}

TEST(Generate, MergesOnlyAllShardsOfOneRun) {
  GenerateOptions options{.operators = 1, .threads = 1, .only = {"Relu", "Add"}};
  const ShardText one = *propose_shard(options, {.index = 1, .of = 2});
  const auto alone = merge_shards({one}, {});
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.error().message, "shard 2/2 has to be given once");
  options.most_terms = 5;
  const ShardText other = *propose_shard(options, {.index = 2, .of = 2});
  EXPECT_FALSE(merge_shards({one, other}, {}).ok());
  const std::string text = one.text();
  EXPECT_FALSE(ShardText::parse(text.substr(0, text.size() - 2)).ok());
  EXPECT_FALSE(ShardText::parse("# no shard\n").ok());
}

TEST(Generate, ABoundLeavesOutAndSaysSo) {
  GenerateOptions options = small(1);
  options.most_terms = 500;
  const GeneratedPack pack = generate_rules(options);
  EXPECT_FALSE(pack.is_complete);
  EXPECT_EQ(pack.stages[1].enumerated.terms, 500u);
  EXPECT_EQ(pack.stages[1].enumerated.terms + pack.stages[1].enumerated.left_out,
            of_two().stages[1].enumerated.terms);
}

TEST(Generate, GoesOnFromWhatAnEarlierRunDecided) {
  GenerateOptions options = small(2);
  std::vector<ShardText> levels;
  options.on_level = [&](const ShardText& so_far) { levels.push_back(written_and_read(so_far)); };
  EXPECT_EQ(generate_rules(options).text, of_two().text);
  ASSERT_EQ(levels.size(), 1u);  // of the last one there is the pack
  EXPECT_TRUE(is_shard_of(levels[0], options, kNoShard));
  levels[0].stages[0].proved = 77;  // to be known again
  options.begun = levels.data();
  options.on_level = {};
  const GeneratedPack again = generate_rules(options);
  EXPECT_EQ(again.text, of_two().text);
  EXPECT_EQ(again.stages[0].proved, 77u);
  EXPECT_EQ(again.stages[1].proved, of_two().stages[1].proved);
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

TEST(Generate, ThePackSaysOfWhatItWasMade) {
  const std::string head = of_two().text.substr(0, of_two().text.find("\n\n"));
  EXPECT_NE(head.find(" operators 2 most-terms 10000000000 most-candidates 400000 most-doubtful 10000000000 "
                      "set-operations 65536 only MatMul Relu Transpose Add Concat Split\n"),
            std::string::npos)
      << head;
  const std::string operators = head.substr(head.find("# Operators:")) + ' ';
  for (const Choice& c : vocabulary())
    EXPECT_NE(operators.find(' ' + c.word.op + ' '), std::string::npos) << c.word.op;
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
