#include "compiler/loops/lower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "compiler/schedule/bfloat16.h"
#include "compiler/schedule/legality.h"
#include "compiler/schedule/test_plan.h"

namespace isomer::lower {
namespace {

using testing::apply_random_step;
using testing::graph_of;
using testing::Lowered;
using testing::lowered;

// The same with loops that are not scheduled.
Lowered composed(const std::string& body) {
  Lowered out = lowered(body);
  for (Nest& nest : out.plan.nests) {
    nest.reduction = main_reduction(nest.value);
    reset_loops(nest, out.plan);
  }
  return out;
}

Lowered scheduled(const std::string& body, Exactness exactness = Exactness::Fast,
                  const std::string& schedules = {}) {
  Lowered out = testing::scheduled(body, exactness, schedules);
  place_buffers(out.plan);
  return out;
}

const std::string kConvolution =
    "(float[1, 32, 20, 20] x, float[1, 32, 20, 20] r, float[32] b) => (float[1, 32, 20, 20] y) "
    "{ s = Constant<value_ints = [32, 32, 3, 3]>() w = ConstantOfShape(s) e = Exp(x) c = Conv<pads = [1, 1, "
    "1, 1]>(e, w, b) d = Add(c, r) "
    "y = Relu(d) }";

TEST(Lower, WhatFollowsAProductElementByElementIsWrittenIntoIt) {
  const Lowered a = composed(
      "(float[4, 8] x, float[8, 6] w, float[6] b) => (float[4, 6] y) { m = MatMul(x, w) n = Add(m, b) y = "
      "Relu(n) }");
  ASSERT_EQ(a.plan.nests.size(), 1u);
  EXPECT_TRUE(a.plan.nests[0].reduction);
}

TEST(Lower, ASumThatIsReadTwiceAtOnePlaceIsComputedOnce) {
  const Lowered a = lowered(
      "(float[6, 5] x, float[5, 4] w) => (float[6, 4] y) { m = MatMul(x, w) e = Erf(m) s = Sigmoid(e) y = "
      "Mul(m, "
      "s) }");
  ASSERT_EQ(a.plan.nests.size(), 1);
  int sums = 0;
  std::set<const ExprNode*> seen;
  const auto visit = [&](const ExprRef& e, const auto& self) -> void {
    if (!seen.insert(e.get()).second) return;
    if (e->kind == ExprNode::Kind::Reduce) ++sums;
    for (const ExprRef& part : e->args) self(part, self);
  };
  visit(a.plan.nests[0].value.ref(), visit);
  EXPECT_EQ(sums, 1);
  // At two places it would be computed twice.
  EXPECT_EQ(lowered("(float[6, 5] x, float[5, 6] w) => (float[6, 6] y) { m = MatMul(x, w) t = Transpose(m) y "
                    "= Mul(m, t) }")
                .plan.nests.size(),
            2);
}

// Such a distance apart, the rows that a tile reads would share one set of the first cache.
TEST(Lower, RowsOf4096BytesThatAProductSumsOverGetAGap) {
  const auto stride_of_rows = [](int depth) {
    const std::string k = std::to_string(depth);
    const Lowered a = scheduled("(float[20, " + k + "] x, float[" + k +
                                ", 32] w) => (float[20, 32] y) { e = Exp(x) y = MatMul(e, w) }");
    EXPECT_EQ(illegal(a.plan), std::nullopt);
    const auto e = std::ranges::find(a.plan.buffers, "e", &Storage::name);
    return e == a.plan.buffers.end() ? Dim(0) : e->strides[0];
  };
  EXPECT_EQ(stride_of_rows(1024), Dim(1040));
  EXPECT_EQ(stride_of_rows(1000), Dim(1000));
}

// Over each channel by itself, in the order of the caller: as slow as a vector of one.
TEST(Lower, AWindowOverEachChannelOfAnInputReadsACopyWithChannelsLast) {
  const std::string depthwise =
      "(float[1, 32, 9, 9] x) => (float[1, 32, 9, 9] y) { s = Constant<value_ints = [32, 1, 3, 3]>() "
      "w = ConstantOfShape(s) y = Conv<group = 32, pads = [1, 1, 1, 1]>(x, w) }";
  const Lowered a = scheduled(depthwise);
  ASSERT_EQ(a.plan.nests.size(), 3u);
  EXPECT_EQ(a.plan.buffer(a.plan.nests[0].target).strides[1], 1);
  EXPECT_EQ(a.plan.buffer(a.plan.nests[1].target).strides[1], 1);
  EXPECT_EQ(a.plan.nests[2].target, a.plan.outputs[0].buffer);
  EXPECT_FALSE(illegal(a.plan));
  // Three channels fill no vector; a sum over channels is a product of matrices, which takes any order.
  EXPECT_EQ(scheduled("(float[1, 3, 9, 9] x) => (float[1, 3, 7, 7] y) "
                      "{ y = MaxPool<kernel_shape = [3, 3]>(x) }")
                .plan.nests.size(),
            1u);
}

TEST(Lower, PartsOfAConcatAreWrittenWhereTheyBelong) {
  const Lowered a = composed(
      "(float[2, 3] x, float[2, 5] z) => (float[2, 8] y) { a = Relu(x) b = Exp(z) y = Concat<axis = 1>(a, b) "
      "}");
  ASSERT_EQ(a.plan.nests.size(), 2u);
  EXPECT_EQ(a.plan.nests[0].target, a.plan.nests[1].target);
  EXPECT_EQ(illegal(a.plan), std::nullopt);
}

TEST(Lower, WhatIsReadOftenStays) {
  const Lowered a =
      composed("(float[4, 8] x, float[8, 6] w) => (float[4, 6] y) { e = Exp(x) y = MatMul(e, w) }");
  EXPECT_EQ(a.plan.nests.size(), 2u);
}

// A formula may use one axis in several sums, and share what stands below them.
TEST(Lower, SumsThatShareTheirAxisAndTheirTerms) {
  const Lowered a = scheduled(
      "(float[6, 4, 2] x) => (float[6, 4, 2] y) { n = Constant<value_int = 6>() d = Constant<value_int = "
      "0>() "
      "y = DFT(x, n, d) }");
  EXPECT_EQ(illegal(a.plan), std::nullopt);
}

TEST(Lower, ANodeWithoutAFormulaIsRefusedByName) {
  AxisNumbers numbers;
  const auto plan =
      lower_graph(graph_of("(float[4] x) => (float[4] y) { [odd] y = RandomNormalLike(x) }"), {}, numbers);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("RandomNormalLike"), std::string::npos);
}

// The loops of a tensor expression of 128 elements, split into 32 x 4 and reordered, as texts.
TEST(Schedule, SplitAndReorderAsText) {
  Lowered a = composed("(float[128] x, float[128] z) => (float[128] y) { [add] y = Add(x, z) }");
  Nest& nest = a.plan.nests[0];
  ASSERT_TRUE(apply_schedule(nest, "split i0 4", a.numbers));
  ASSERT_TRUE(apply_schedule(nest, "reorder i0.i i0.o", a.numbers));
  ASSERT_TRUE(apply_schedule(nest, "vectorize i0.o", a.numbers));
  EXPECT_EQ(text(nest, a.plan),
            "add: y[128]\n"
            "  split i0 4\n"
            "  reorder i0.i i0.o\n"
            "  vectorize i0.o\n"
            "  for i0.i in 4:\n"
            "    vector for i0.o in 32:\n"
            "      a0 = 4*a1 + a2\n"
            "      b2[a0] = add(x0[a0], x1[a0])\n");
  EXPECT_EQ(illegal(a.plan, nest), std::nullopt);
}

// A product and the bias that is added to it are one nest; its loops in blocks of 8 x 8.
TEST(Schedule, AProductInBlocks) {
  Lowered a = composed(
      "(float[32, 16] x, float[16, 24] w, float[24] b) => (float[32, 24] y) { [dot] m = MatMul(x, w) [add] y "
      "= Add(m, b) }");
  Nest& nest = a.plan.nests[0];
  for (const char* line : {"split i0 8", "split i1 8", "split r0 4", "reorder i0.o i1.o r0.o r0.i i0.i i1.i",
                           "unroll i0.i", "vectorize i1.i"})
    ASSERT_TRUE(apply_schedule(nest, line, a.numbers)) << line;
  EXPECT_EQ(illegal(a.plan, nest), std::nullopt);
  std::vector<std::string> names;
  for (const Loop& l : nest.loops) names.push_back(l.name);
  EXPECT_EQ(names, (std::vector<std::string>{"i0.o", "i1.o", "r0.o", "r0.i", "i0.i", "i1.i"}));
  EXPECT_EQ(text(nest, a.plan),
            "dot + add: y[32, 24]\n"
            "  split i0 8\n"
            "  split i1 8\n"
            "  split r0 4\n"
            "  reorder i0.o i1.o r0.o r0.i i0.i i1.i\n"
            "  unroll i0.i\n"
            "  vectorize i1.i\n"
            "  for i0.o in 4:\n"
            "    for i1.o in 3:\n"
            "      for r0.o in 4:\n"
            "        for r0.i in 4:\n"
            "          unrolled for i0.i in 8:\n"
            "            vector for i1.i in 8:\n"
            "              a3 = 8*a6 + a7\n"
            "              a4 = 8*a8 + a9\n"
            "              a5 = 4*a10 + a11\n"
            "              b4[a3, a4] = add(sum(a5<16: mul(x0[a3, a5], x1[a5, a4])), x2[a4])\n");
}

constexpr char kDotAdd[] =
    "(float[32, 16] x, float[16, 24] w, float[24] b) => (float[32, 24] y) { [dot] m = MatMul(x, w) [add] y = "
    "Add(m, b) }";

// The same onto the kernel of tiles, as lines that are shown and that one may give.
TEST(Schedule, AProductOntoTheKernelOfTiles) {
  const Lowered own = scheduled(kDotAdd);
  ASSERT_EQ(own.plan.nests.size(), 2u);
  EXPECT_EQ(text(own.plan.nests[1], own.plan),
            "dot + add: y[32, 24]\n"
            "  pack x1 32\n"
            "  tensorize\n"
            "  block 32\n"
            "  group 1\n"
            "  b4[a3, a4] = add(sum(a5<16: mul(x0[a3, a5], x1[a5, a4])), x2[a4])\n");
  const Lowered a = scheduled(kDotAdd, Exactness::Fast, "nest dot + add\npack x1 16\ntensorize\n");
  ASSERT_EQ(a.plan.nests.size(), 2u);
  ASSERT_TRUE(a.plan.nests[1].tile);
  EXPECT_EQ(a.plan.nests[1].tile->width, 16);
  EXPECT_EQ(illegal(a.plan), std::nullopt);
  // Or with the other factor packed.
  const Lowered b = scheduled(kDotAdd, Exactness::Fast, "nest dot + add\npack x0 32\ntensorize\n");
  ASSERT_TRUE(b.plan.nests[1].tile);
  EXPECT_EQ(b.plan.nests[1].tile->left, 1);
  EXPECT_EQ(illegal(b.plan), std::nullopt);
  Plan wrong = a.plan;
  wrong.nests[1].tile->left_first = !wrong.nests[1].tile->left_first;
  EXPECT_NE(illegal(wrong), std::nullopt);
}

TEST(Schedule, AConvolutionOntoWinogradsTiles) {
  for (const std::int64_t size : {2, 4}) {
    Lowered a = scheduled(kConvolution);
    const auto at = std::ranges::find_if(a.plan.nests, [](const Nest& n) { return n.winograd.has_value(); });
    ASSERT_NE(at, a.plan.nests.end());
    const std::string name = at->name;
    a = scheduled(kConvolution, Exactness::Direct,
                  "nest " + name + "\ntensorize F(" + std::to_string(size) + ",3)\n");
    const auto again =
        std::ranges::find_if(a.plan.nests, [](const Nest& n) { return n.winograd.has_value(); });
    ASSERT_NE(again, a.plan.nests.end());
    EXPECT_EQ(again->winograd->size, size);
    EXPECT_NE(text(*again, a.plan).find("tensorize F(" + std::to_string(size) + ",3)"), std::string::npos);
    EXPECT_EQ(illegal(a.plan), std::nullopt);
  }
}

TEST(Schedule, MistakesOfLinesAboutMore) {
  for (const char* line : {"pack x1 8\ntensorize", "pack x1\ntensorize", "pack x1 16", "tensorize F(3,3)",
                           "tensorize\nsplit i0 4", "pack w 16\ntensorize", "pack x1 16\ntensorize F(4,3)"}) {
    const auto own = parse_schedules(std::string("nest n\n") + line + "\n");
    ASSERT_TRUE(own);
    EXPECT_FALSE(tile_request(own->at("n"))) << line;
  }
  for (const char* line :
       {"compute_at", "compute_at m", "compute_at m 0", "compute_at m 2\ncompute_at m 2"}) {
    const auto own = parse_schedules(std::string("nest n\n") + line + "\n");
    ASSERT_TRUE(own);
    EXPECT_FALSE(strip_request(own->at("n"))) << line;
  }
  Lowered a = lowered(kDotAdd);
  for (const char* line : {"pack x7 16\ntensorize", "tensorize F(4,3)"}) {
    Plan plan = a.plan;
    EXPECT_FALSE(schedule_nests(plan, a.numbers, Exactness::Fast,
                                *parse_schedules(std::string("nest dot + add\n") + line)))
        << line;
  }
  Plan plan = a.plan;
  EXPECT_FALSE(choose_strips(plan, {}, *parse_schedules("nest dot + add\ncompute_at nobody 4")));
}

TEST(Schedule, MistakesAreSaid) {
  Lowered a =
      composed("(float[4, 6] x) => (float[4, 1] y) { a = Constant<value_ints = [1]>() y = ReduceMax(x, a) }");
  Nest& nest = a.plan.nests[0];
  for (const char* line :
       {"split i9 4", "split i0 0", "split i0", "fuse i0 r0", "turn i0", "reorder i0 i0", "unroll"})
    EXPECT_FALSE(apply_schedule(nest, line, a.numbers)) << line;
  EXPECT_FALSE(parse_schedules("split i0 4\n"));
  EXPECT_FALSE(apply_schedules(a.plan, {{"nobody", {}}}, a.numbers));
}

TEST(Legality, PlansOfAllKindsAreLegal) {
  for (const char* body :
       {"(float[1, 32, 20, 20] x) => (float[1, 32, 10, 10] y) "
        "{ s = Constant<value_ints = [32, 1, 3, 3]>() w = ConstantOfShape(s) y = Conv<group = 32, strides = "
        "[2, 2], pads = [1, 1, 1, 1]>(x, w) }",
        "(float[2, 3, 9, 7] x, float[2, 3, 7, 5] z) => (float[2, 3, 9, 5] y) { y = MatMul(x, z) }",
        "(float[1, 8, 16, 16] x) => (float[1, 16, 16, 16] y) "
        "{ s = Constant<value_ints = [16, 4, 3, 3]>() w = ConstantOfShape(s) y = Conv<group = 2, pads = [1, "
        "1, 1, 1]>(x, w) }",
        "(float[3, 40] x) => (float[3, 40] y) { y = Softmax(x) }",
        "(float[3, 0] x) => (float[3, 0] y) { e = Exp(x) f = Softmax(e) y = Exp(f) }",
        "(float[2, 6] x, int64[4] i) => (float[2, 4] y) { y = Gather<axis = 1>(x, i) }"}) {
    const Lowered a = scheduled(body);
    EXPECT_EQ(illegal(a.plan), std::nullopt) << body;
  }
}

TEST(Legality, ChannelsGoBySixteensAndTheRestAtOnce) {
  Lowered a = scheduled(
      "(float[1, 44, 14, 14] x) => (float[1, 32, 14, 14] y) { r = Relu(x) s = Constant<value_ints = [44, 1, "
      "5, "
      "5]>() w = ConstantOfShape(s) c = Conv<group = 44, pads = [2, 2, 2, 2]>(r, w) t = Constant<value_ints "
      "= "
      "[32, 44, 1, 1]>() v = ConstantOfShape(t) y = Conv(c, v) }");
  std::vector<Nest*> by_lanes;
  for (Nest& nest : a.plan.nests)
    if (nest.lanes) by_lanes.push_back(&nest);
  ASSERT_EQ(by_lanes.size(), 2);
  EXPECT_TRUE(by_lanes[0]->loops.back().axis.extent.is(16));
  EXPECT_TRUE(by_lanes[1]->loops.back().axis.extent.is(12));
  EXPECT_EQ(illegal(a.plan), std::nullopt);
  // More than a vector has, and fewer than there are.
  for (const std::int64_t length : {17, 11}) {
    Lowered b = a;
    const auto at = std::ranges::find_if(
        b.plan.nests, [](const Nest& n) { return n.lanes && n.loops.back().axis.extent.is(12); });
    const Axis before = at->loops.back().axis, after{.id = before.id, .extent = Dim(length)};
    at->loops.back().axis = after;
    for (AxisOfLoops& of : at->of) of.index = with_axes(of.index, {{before.id, Index(after)}});
    EXPECT_NE(illegal(b.plan), std::nullopt) << length;
  }
}

TEST(Legality, NeighboursInMemoryAreOneLoop) {
  // The innermost two axes of the input are contiguous; with a factor for each channel none are.
  const auto innermost = [](const std::string& body) {
    const Lowered a = scheduled(body);
    EXPECT_EQ(illegal(a.plan), std::nullopt) << body;
    return a.plan.nests.back().loops.back().axis.extent.concrete();
  };
  EXPECT_EQ(innermost("(float[3, 5, 44] x) => (float[3, 5, 44] y) { y = Exp(x) }"), 5 * 44);
  EXPECT_EQ(innermost("(float[3, 5, 44] x, float[44] b) => (float[3, 5, 44] y) { y = Add(x, b) }"), 44);
  EXPECT_EQ(innermost("(float[3, 5, 44] x, float[3, 1, 1] b) => (float[3, 5, 44] y) { y = Add(x, b) }"),
            5 * 44);
}

TEST(Legality, AConvolutionGoesByWinogradAndIsLegal) {
  Lowered a = scheduled(kConvolution);
  const auto at = std::ranges::find_if(a.plan.nests, [](const Nest& n) { return n.winograd.has_value(); });
  ASSERT_NE(at, a.plan.nests.end());
  EXPECT_EQ(illegal(a.plan), std::nullopt);
  at->winograd->top += 1;
  EXPECT_NE(illegal(a.plan), std::nullopt);
  at->winograd->top -= 1;
  at->winograd->tiles *= 2;
  EXPECT_NE(illegal(a.plan), std::nullopt);
}

TEST(Legality, WinogradOfAnotherSizeHasOtherWeights) {
  Lowered a = scheduled(kConvolution, Exactness::SmallTiles);
  const auto at = std::ranges::find_if(a.plan.nests, [](const Nest& n) { return n.winograd.has_value(); });
  ASSERT_NE(at, a.plan.nests.end());
  EXPECT_EQ(at->winograd->size, 2);
  EXPECT_EQ(illegal(a.plan), std::nullopt);
  at->winograd->size = 4;
  EXPECT_NE(illegal(a.plan), std::nullopt);
  at->winograd->size = 3;
  EXPECT_NE(illegal(a.plan), std::nullopt);
}

TEST(Legality, NoWinogradWhereSumsAreDirect) {
  const Lowered a = scheduled(kConvolution, Exactness::Direct);
  EXPECT_TRUE(std::ranges::none_of(a.plan.nests, [](const Nest& n) { return n.winograd.has_value(); }));
  EXPECT_EQ(illegal(a.plan), std::nullopt);
}

TEST(Legality, PairsAreOfWeightsThatAreStoredSo) {
  Lowered a = scheduled(kConvolution, Exactness::Bfloat16);
  const auto at = std::ranges::find_if(
      a.plan.nests, [&](const Nest& n) { return n.tile && is_paired(a.plan.buffer(n.tile->right)); });
  ASSERT_NE(at, a.plan.nests.end());
  EXPECT_EQ(illegal(a.plan), std::nullopt);
  Storage& weights = a.plan.buffer(at->tile->right);
  EXPECT_EQ(byte_size(weights), 9 * 32 * 32 * 2);
  weights.type = ElementType::Float;
  EXPECT_NE(illegal(a.plan), std::nullopt);
  weights.type = ElementType::BFloat16;
  at->tile->chunk = 8;
  EXPECT_NE(illegal(a.plan), std::nullopt);
}

TEST(Legality, NoPairsWithoutBeingAskedFor) {
  for (const Exactness exactness :
       {Exactness::Fast, Exactness::ShortSums, Exactness::SmallTiles, Exactness::Direct})
    for (const Storage& s : scheduled(kConvolution, exactness).plan.buffers) EXPECT_FALSE(is_paired(s));
}

// Whether every instance runs exactly once, by running the loops.
bool runs_each_once(const Nest& nest) {
  std::vector<std::int64_t> at(nest.loops.size(), 0);
  std::map<std::vector<std::int64_t>, int> times;
  std::int64_t instances = 1;
  for (const AxisOfLoops& a : nest.of) instances *= a.axis.extent.concrete();
  for (bool goes_on = true; goes_on;) {
    AxisMap by;
    for (std::size_t k = 0; k < at.size(); ++k) by[nest.loops[k].axis.id] = Index(at[k]);
    const auto number = [&](const Index& i) { return with_axes(i, by).offset().concrete(); };
    if (std::ranges::all_of(nest.guard, [&](const Index& g) { return number(g) >= 0; })) {
      std::vector<std::int64_t> point;
      for (const AxisOfLoops& a : nest.of) {
        point.push_back(number(a.index));
        if (point.back() < 0 || point.back() >= a.axis.extent.concrete()) return false;
      }
      if (++times[point] > 1) return false;
    }
    goes_on = false;
    for (std::size_t k = at.size(); k-- > 0;) {
      if (++at[k] < nest.loops[k].axis.extent.concrete()) {
        goes_on = true;
        break;
      }
      at[k] = 0;
    }
  }
  return static_cast<std::int64_t>(times.size()) == instances;
}

// Random schedules, half of them spoilt: the checker says what running the loops shows.
TEST(Legality, AgreesWithRunningRandomSchedules) {
  std::mt19937_64 random(7);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const Lowered start = composed("(float[6, 5] x, float[5, 4] w) => (float[6, 4] y) { y = MatMul(x, w) }");
  int legal = 0, refused = 0;
  for (int round = 0; round < 1000; ++round) {
    Lowered a = start;
    Nest& nest = a.plan.nests[0];
    for (std::size_t steps = 1 + below(4); steps > 0; --steps) {
      apply_random_step(nest, a.numbers, below);
      if (nest.loops.size() > 6) break;
    }
    Loop& loop = nest.loops[below(nest.loops.size())];
    AxisOfLoops& axis = nest.of[below(nest.of.size())];
    switch (below(8)) {
      case 0: loop.axis.extent = Dim(loop.axis.extent.concrete() + 1); break;
      case 1: loop.axis.extent = Dim(std::max<std::int64_t>(1, loop.axis.extent.concrete() - 1)); break;
      case 2: axis.index = axis.index + Index(1); break;
      case 3: nest.guard.clear(); break;
      default: break;
    }
    const bool runs = runs_each_once(nest), accepted = !illegal(a.plan, nest);
    EXPECT_EQ(runs, accepted) << text(nest, a.plan) << illegal(a.plan, nest).value_or("");
    (accepted ? legal : refused) += 1;
  }
  EXPECT_GT(legal, 300);
  EXPECT_GT(refused, 100);
}

// Ten ways to plan memory wrongly, or to run nests in a wrong order.
TEST(Legality, PlantedFaultsOfPlansAreFound) {
  const Lowered a = scheduled(
      "(float[4, 64] x) => (float[4, 32] y, float[4, 64] z) "
      "{ s = Constant<value_ints = [64, 64]>() v = ConstantOfShape(s) t = Constant<value_ints = [64, 32]>() "
      "w = ConstantOfShape(t) a = MatMul(x, v) b = Exp(a) c = Softmax(b) y = MatMul(c, w) z = Sub(b, a) }");
  ASSERT_EQ(illegal(a.plan), std::nullopt);
  std::vector<int> locals, weights;
  for (std::size_t k = 0; k < a.plan.buffers.size(); ++k) {
    const Storage& s = a.plan.buffers[k];
    if (s.offset < 0) continue;
    (s.kind == Storage::Kind::Weight ? weights : locals).push_back(static_cast<int>(k));
  }
  ASSERT_GE(locals.size(), 2u);
  ASSERT_GE(weights.size(), 2u);
  int found = 0;
  const auto plant = [&](const std::function<void(Plan&)>& fault) {
    Plan plan = a.plan;
    fault(plan);
    found += illegal(plan) ? 1 : 0;
  };
  const auto buffer = [](Plan& plan, int k) -> Storage& { return plan.buffer(k); };
  plant([&](Plan& p) { p.workspace -= 64; });
  plant([&](Plan& p) { p.weights -= 64; });
  plant([&](Plan& p) { buffer(p, weights[1]).offset = buffer(p, weights[0]).offset; });
  plant([&](Plan& p) { buffer(p, locals[0]).offset = -1; });
  plant([&](Plan& p) { buffer(p, locals[0]).offset += 2; });
  plant([&](Plan& p) {
    for (const int k : locals) buffer(p, k).offset = 0;
  });
  plant([&](Plan& p) { std::swap(p.nests.front(), p.nests.back()); });
  plant([&](Plan& p) { p.nests.erase(p.nests.begin()); });
  plant([&](Plan& p) { p.nests.push_back(p.nests.back()); });
  plant([&](Plan& p) { p.nests.back().at[0] = p.nests.back().at[0] + Index(1); });
  EXPECT_EQ(found, 10);
}

}  // namespace
}  // namespace isomer::lower
