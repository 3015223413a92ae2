#include "compiler/loops/intrinsic.h"

#include <gtest/gtest.h>

#include "compiler/emit/emit.h"
#include "compiler/schedule/legality.h"
#include "compiler/schedule/test_plan.h"

namespace isomer::lower {
namespace {

using testing::graph_of;
using testing::Lowered;

const std::string kDot8 =
    "intrinsic dot8 (float[8, 4] a, float[4, 8] b) => (float[8, 8] c) { c = MatMul(a, b) }\n"
    "code\n"
    "  for (int64_t i = 0; i < 8; ++i)\n"
    "    for (int64_t j = 0; j < 8; ++j)\n"
    "      for (int64_t k = 0; k < 4; ++k) c[8*i + j] += a[i*a_0 + k*a_1] * b[k*b_0 + j*b_1];\n"
    "end\n";
const std::string kDotAdd =
    "(float[32, 64] x, float[64, 24] w, float[24] b) => (float[32, 24] y) { [dot] m = MatMul(x, w) "
    "[add] y = Add(m, b) }";
const std::string kLines =
    "split i0 8\nsplit i1 8\nsplit r0 4\nreorder i0.o i1.o r0.o i0.i i1.i r0.i\ntensorize dot8\n";

Result<Lowered> called(const std::string& body, const std::string& lines, const std::string& own = kDot8) {
  Lowered out = testing::lowered(body);
  const std::string text = own + "nest " + out.plan.nests.back().name + '\n' + lines;
  ISOMER_TRY(const Schedules schedules, parse_schedules(text));
  ISOMER_TRY(out.plan.intrinsics, parse_intrinsics(text));
  ISOMER_TRY_DO(apply_schedules(out.plan, schedules, out.numbers));
  place_buffers(out.plan);
  return out;
}

// The product of the seed's example, its innermost loops as a kernel of 8 x 8.
TEST(Intrinsic, ACallIsProvedAndWritten) {
  const auto a = called(kDotAdd, kLines);
  ASSERT_TRUE(a) << a.error().message;
  const Nest& nest = a->plan.nests.back();
  EXPECT_EQ(illegal(a->plan), std::nullopt);
  EXPECT_EQ(nest.call->factors[0].strides, to_dims({64, 1}));
  EXPECT_EQ(nest.call->factors[1].strides, to_dims({24, 1}));
  EXPECT_EQ(text(nest, a->plan).substr(0, text(nest, a->plan).find("    b")),
            "dot + add: y[32, 24]\n"
            "  split i0 8\n"
            "  split i1 8\n"
            "  split r0 4\n"
            "  reorder i0.o i1.o r0.o i0.i i1.i r0.i\n"
            "  tensorize dot8\n"
            "  for i0.o in 4:\n"
            "    for i1.o in 3:\n"
            "      for r0.o in 16:\n"
            "        for i0.i in 8:\n"
            "          for i1.i in 8:\n"
            "            for r0.i in 4:\n"
            "              a3 = 8*a6 + a7\n"
            "              a4 = 8*a8 + a9\n"
            "              a5 = 4*a10 + a11\n"
            "          ");
  const std::string code = emit(a->plan, "net").code;
  EXPECT_NE(code.find("im_own_dot8(float* c, const float* a, int64_t a_0, int64_t a_1, const float* b"),
            std::string::npos)
      << code;
  EXPECT_NE(code.find("im_own_dot8(sum, p"), std::string::npos) << code;
}

TEST(Intrinsic, FactorsMayLieOtherwise) {
  const auto a = called(
      "(float[64, 32] x, float[24, 64] w) => (float[32, 24] y) { [turn] a = Transpose(x) b = Transpose(w) "
      "[dot] y = MatMul(a, b) }",
      kLines);
  ASSERT_TRUE(a) << a.error().message;
  EXPECT_EQ(illegal(a->plan), std::nullopt);
  EXPECT_EQ(a->plan.nests.back().call->factors[0].strides, to_dims({1, 32}));
  EXPECT_EQ(a->plan.nests.back().call->factors[1].strides, to_dims({1, 64}));
}

// Loops of a convolution's window are summed around the call. A product has its factors in one order.
TEST(Intrinsic, AConvolutionCallsIt) {
  const std::string body =
      "(float[1, 8, 10, 16] x, float[8, 8, 3, 1] w) => (float[1, 8, 8, 16] y) { [conv] y = Conv(x, w) }";
  const std::string lines =
      "split i3 8\nsplit r0 4\nreorder i0 i2 i3.o r1 r2 r0.o i1 i3.i r0.i\ntensorize dot8\n";
  const auto a = called(body, lines,
                        "intrinsic dot8 (float[4, 8] x, float[8, 4] w) => (float[8, 8] c) { a = Transpose(x) "
                        "b = Transpose(w) d = MatMul(a, b) c = Transpose(d) }\ncode\nend\n");
  ASSERT_TRUE(a) << a.error().message;
  EXPECT_EQ(illegal(a->plan), std::nullopt);
  EXPECT_EQ(a->plan.nests.back().call->factors[0].strides, to_dims({160, 1}));
  EXPECT_EQ(a->plan.nests.back().call->factors[1].strides, to_dims({24, 3}));
  const auto b = called(
      body, lines,
      "intrinsic dot8 (float[8, 4] w, float[4, 8] x) => (float[8, 8] c) { c = MatMul(w, x) }\ncode\nend\n");
  EXPECT_TRUE(!b || illegal(b->plan));
}

TEST(Intrinsic, LoopsThatAreNotItsOwnAreRefused) {
  for (const char* lines :
       {"tensorize dot8\n",  // too long
        "split i0 8\nsplit i1 8\nsplit r0 4\nreorder i0.o i1.o i0.i i1.i r0.o r0.i\ntensorize dot8\n",
        "split i0 8\nsplit i1 8\nsplit r0 4\nreorder i0.o i1.o r0.o i1.i i0.i r0.i\ntensorize dot8\n",
        "split i0 8\nsplit i1 8\nsplit r0 8\nreorder i0.o i1.o r0.o i0.i i1.i r0.i\ntensorize dot8\n",
        "split i0 8\nsplit i1 8\nsplit r0 4\nreorder i0.o r0.o i1.o i0.i i1.i r0.i\ntensorize dot8\n",
        "split i0 8\nsplit i1 8\nsplit r0 4\nreorder i0.o i1.o r0.o i0.i i1.i r0.i\nunroll r0.i\ntensorize "
        "dot8\n",
        "split i0 8\nsplit i1 8\nsplit r0 4\nreorder i0.o i1.o r0.o i0.i i1.i r0.i\ntensorize dot8\nsplit "
        "r0.i 2\n"}) {
    const auto a = called(kDotAdd, lines);
    EXPECT_TRUE(!a || illegal(a->plan)) << lines;
  }
  // Rows that 8 does not divide need a guard.
  const auto guarded =
      called("(float[30, 64] x, float[64, 24] w) => (float[30, 24] y) { [dot] y = MatMul(x, w) }", kLines);
  EXPECT_TRUE(!guarded || illegal(guarded->plan));
}

TEST(Intrinsic, OtherSumsAreRefused) {
  const std::string loops =
      "split i0 8\nsplit i1 8\nsplit r0 4\nreorder i0.o i1.o r0.o i0.i i1.i r0.i\ntensorize other\n";
  for (const char* graph :
       {"(float[8, 4] a, float[8, 4] b) => (float[8, 8] c) { t = Transpose(b) c = MatMul(a, t) }",  // is it
        "(float[8, 4] a, float[4, 8] b) => (float[8, 8] c) { e = Exp(a) c = MatMul(e, b) }",
        "(float[8, 4] a, float[4, 8] b) => (float[8, 8] c) { d = Neg(b) c = MatMul(a, d) }"}) {
    const auto a = called(kDotAdd, loops, "intrinsic other " + std::string(graph) + "\ncode\nend\n");
    const bool is_it = std::string_view(graph).find("Transpose") != std::string_view::npos;
    ASSERT_TRUE(a || !is_it) << a.error().message;
    EXPECT_EQ(a && !illegal(a->plan), is_it) << graph;
  }
}

// Changes in the description of a call: the checker finds all of them.
TEST(Intrinsic, FaultsAreFound) {
  const auto good = called(kDotAdd, kLines);
  ASSERT_TRUE(good);
  const auto with = [&](const auto& change) {
    Plan plan = good->plan;
    change(plan, plan.nests.back());
    return illegal(plan).has_value();
  };
  EXPECT_FALSE(with([](Plan&, Nest&) {}));
  EXPECT_TRUE(with([](Plan&, Nest& n) { n.call->factors[0].strides[0] = 63; }));
  EXPECT_TRUE(with([](Plan&, Nest& n) { n.call->factors[1].strides[1] = 0; }));
  EXPECT_TRUE(with([](Plan&, Nest& n) { std::swap(n.call->factors[0], n.call->factors[1]); }));
  EXPECT_TRUE(with([](Plan&, Nest& n) { n.call->factors.pop_back(); }));
  EXPECT_TRUE(with([](Plan&, Nest& n) { n.call->intrinsic = 1; }));
  EXPECT_TRUE(with([](Plan& p, Nest&) { p.intrinsics[0].axes[0].extent = Dim(7); }));
  EXPECT_TRUE(with([](Plan& p, Nest&) { p.intrinsics[0].inputs[1].type = ElementType::Double; }));
  EXPECT_TRUE(with([](Plan& p, Nest&) { p.intrinsics[0].inputs[1].extents = {3, 8}; }));
  EXPECT_TRUE(with([](Plan&, Nest& n) { std::swap(n.loops[3], n.loops[4]); }));
  EXPECT_TRUE(with([](Plan&, Nest& n) { n.loops[5].kind = Loop::Kind::Parallel; }));
  EXPECT_TRUE(with([](Plan&, Nest& n) { n.guard.push_back(Index(0)); }));
  EXPECT_TRUE(with([](Plan&, Nest& n) { n.lanes = true; }));
}

TEST(Intrinsic, TextsThatAreWrong) {
  for (const char* text :
       {"intrinsic a (float[8] x) => (float y) { y = ReduceSum(x) }\n",  // no code
        "intrinsic a (float[8] x) => (float y) { y = ReduceSum(x) }\nend\n",
        "intrinsic a (float[8] x) => (float[8] y) { y = Exp(x) }\ncode\nend\n",  // no sum
        "intrinsic a (float[8] x) => (float y) { y = Unknown(x) }\ncode\nend\n",
        "intrinsic a (float[8] x) => (float y) { y = ReduceSum<axes = [0]>(x) }\ncode\nend\n",
        "intrinsic a (float[n] x) => (float y) { y = ReduceSum(x) }\ncode\nend\n",
        "intrinsic 8a (float[8] x) => (float y) { y = ReduceSum(x) }\ncode\nend\n",
        "intrinsic a (float[8] x) => (float y) { y = ReduceMax(x) }\ncode\nend\n",
        "intrinsic a (float[8, 8] x) => (float y, float z) { y = ReduceSum(x) z = "
        "ReduceMax(x) }\ncode\nend\n",
        "intrinsic a { }\ncode\nend\n"})
    EXPECT_FALSE(parse_intrinsics(text)) << text;
  EXPECT_FALSE(parse_intrinsics(kDot8 + kDot8));
  EXPECT_TRUE(parse_intrinsics(kDot8));
  EXPECT_FALSE(called(kDotAdd, "tensorize none\n"));
}

TEST(Intrinsic, TrialsAreCalls) {
  const auto own = parse_intrinsics(kDot8);
  ASSERT_TRUE(own);
  const auto all = trials(own->front());
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->size(), 2u);
  for (const Trial& trial : *all) {
    Lowered a;
    a.plan = *lower_graph(trial.graph, {}, a.numbers);
    compose_nests(a.plan, a.numbers);
    a.plan.intrinsics = *parse_intrinsics(trial.schedule);
    const auto applied = apply_schedules(a.plan, *parse_schedules(trial.schedule), a.numbers);
    ASSERT_TRUE(applied) << applied.error().message;
    place_buffers(a.plan);
    EXPECT_TRUE(a.plan.nests.back().call);
    EXPECT_EQ(illegal(a.plan), std::nullopt) << trial.schedule;
  }
}

}  // namespace
}  // namespace isomer::lower
