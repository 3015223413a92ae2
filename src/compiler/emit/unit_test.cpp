#include "compiler/emit/unit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/emit/module.h"
#include "compiler/emit/unit_choices.h"
#include "compiler/schedule/legality.h"
#include "compiler/schedule/test_plan.h"

namespace isomer::lower {
namespace {

std::string weights(const std::string& name, const std::string& shape) {
  return "s" + name + " = Constant<value_ints = [" + shape + "]>() " + name + " = ConstantOfShape(s" + name +
         ") ";
}
// Two equal layers, and one that is not.
const std::string kLayers =
    "(float[1, 32, 16, 16] x) => (float[1, 32, 16, 16] y) { " + weights("a", "32, 32, 3, 3") +
    weights("b", "32, 32, 1, 1") +
    "e = Exp(x) f = Conv<pads = [1, 1, 1, 1]>(e, a) g = Conv<pads = [1, 1, 1, 1]>(f, a) "
    "h = Conv<pads = [1, 1, 1, 1]>(g, a) y = Conv(h, b) }";
// A block whose tensors are too large for a cache.
const std::string kBlock =
    "(float[1, 16, 112, 112] x) => (float[1, 24, 112, 112] y) { " + weights("a", "96, 16, 1, 1") +
    weights("b", "96, 1, 3, 3") + weights("c", "24, 96, 1, 1") +
    "e = Exp(x) d = Conv(e, a) f = Relu(d) g = Conv<group = 96, pads = [1, 1, 1, 1]>(f, b) "
    "h = Relu(g) y = Conv(h, c) }";

std::vector<Unit> units(const std::string& body, Exactness exactness = Exactness::Fast) {
  auto out = units_of(testing::graph_of(body), {}, {}, exactness);
  EXPECT_TRUE(out) << (out ? "" : out.error().message);
  return std::move(*out);
}

TEST(Unit, EqualLayersAreTheSame) {
  const auto all = units(kLayers);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].key, all[1].key);
  EXPECT_NE(all[0].key, all[3].key);
  EXPECT_NE(units(kLayers, Exactness::Direct)[0].key, all[0].key);
}

TEST(Unit, AChainIsOne) {
  const auto all = units(kBlock);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_GT(all[0].nests.size(), 2u);
}

TEST(Unit, EveryChoiceIsLegalOrRefusedAndIsItsLines) {
  for (const std::string& body : {kLayers, kBlock})
    for (const Unit& unit : units(body)) {
      const UnitChoices choices(unit, Exactness::Fast);
      ASSERT_FALSE(choices.is_empty());
      UnitChoices::Random random(7);
      int legal = 0;
      std::set<std::string> loops;
      for (int k = 0; k < 40; ++k) {
        const UnitChoice choice = UnitChoices::crossed(choices.drawn(random), choices.drawn(random), random);
        const std::string lines = choices.lines(choice);
        const auto again = choices.choice_of(lines);
        ASSERT_TRUE(again) << lines;
        EXPECT_EQ(choices.lines(*again), lines);
        const auto plan = scheduled(unit, lines, Exactness::Fast);
        if (!plan) continue;
        ++legal;
        EXPECT_EQ(illegal(*plan), std::nullopt) << lines;
        std::string text;
        for (const Nest& nest : plan->nests) text += lower::text(nest, *plan);
        loops.insert(text);
      }
      EXPECT_GT(legal, 20);
      EXPECT_GT(loops.size(), 10u);
    }
}

TEST(Unit, LinesAreSaidOfTheModelsNests) {
  const Graph graph = testing::graph_of(kLayers);
  const auto all = units(kLayers);
  const auto plain = module_of(graph, {}, "m");
  ASSERT_TRUE(plain);
  const TunedLines tuned{{all[0].key, "nest n0\nkeep\npack 16\ntensorize\nblock 2\ngroup 1\n"}};
  const auto changed = module_of(graph, {}, "m", "", Exactness::Fast, 1, {}, tuned);
  ASSERT_TRUE(changed) << changed.error().message;
  int tiles = 0, winograd = 0;
  for (const Nest& nest : changed->plan.nests) {
    winograd += nest.winograd ? 1 : 0;
    if (!nest.tile || nest.tile->width != 16) continue;
    ++tiles;
    EXPECT_EQ(nest.tile->block, 2);
    EXPECT_EQ(nest.tile->group, 1);
    EXPECT_TRUE(is_shared(nest));  // as it would be
  }
  EXPECT_GE(tiles, 2);
  EXPECT_EQ(winograd + tiles, 3);
  // What belongs to no unit changes nothing.
  const auto other = module_of(graph, {}, "m", "", Exactness::Fast, 1, {}, {{"0123", "nest n0\npack 16\n"}});
  ASSERT_TRUE(other);
  EXPECT_EQ(other->code, plain->code);
  // A user's own lines come first.
  const std::string name = plain->plan.nests[all[0].nests[0]].name;
  const auto own =
      module_of(graph, {}, "m", "nest " + name + "\ntensorize F(2,3)\n", Exactness::Fast, 1, {}, tuned);
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ(std::ranges::count_if(own->plan.nests,
                                  [](const Nest& n) { return n.winograd && n.winograd->size == 2; }),
            1);
}

TEST(Unit, SumsThatNoStackHoldsAreRefused) {
  const auto all = units("(float[4096, 512] x) => (float[4096, 1024] y) { " + weights("w", "512, 1024") +
                         "y = MatMul(x, w) }");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(scheduled(all[0], "nest n0\nkeep\ntensorize\nblock 64\ngroup 2\npieces 64\n", Exactness::Fast));
  const auto large =
      scheduled(all[0], "nest n0\nkeep\ntensorize\nblock 4096\ngroup 8\npieces 64\n", Exactness::Fast);
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().message.find("stack"), std::string::npos);
  for (const char* lines :
       {"nest n0\nkeep\ntensorize\nblock 0\n", "nest n0\nkeep\ntensorize\ntiles 4\n",
        "nest n0\nkeep\ntensorize F(4,3)\n", "nest n1\nkeep\n", "nest n0\nkeep\nblock 4\n"})
    EXPECT_FALSE(scheduled(all[0], lines, Exactness::Fast)) << lines;
}

}  // namespace
}  // namespace isomer::lower
