#include "compiler/loops/open_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/schedule/legality.h"
#include "compiler/schedule/test_plan.h"

namespace isomer::lower {
namespace {

using testing::graph_of;

Sizes sizes_of(const std::string& body) {
  auto sizes = open_sizes(graph_of(body), {});
  EXPECT_TRUE(sizes) << body << '\n' << (sizes ? "" : sizes.error().message);
  return sizes ? std::move(*sizes) : Sizes{};
}

// As a module schedules it, with its memory.
Result<Plan> planned(const std::string& body) {
  AxisNumbers numbers;
  ISOMER_TRY(Plan plan, lower_graph(graph_of(body), {}, numbers, sizes_of(body)));
  compose_nests(plan, numbers);
  choose_layouts(plan, numbers);
  ISOMER_TRY_DO(choose_strips(plan));
  ISOMER_TRY_DO(schedule_nests(plan, numbers));
  share_nests(plan);
  place_buffers(plan);
  return plan;
}

std::string said(const Plan& plan) { return illegal(plan).value_or(""); }

// Weights, one head of attention with its scores, the sum with what it began with.
const std::string kAttention =
    "(float[N, L, 32] x) => (float[N, L, 32] y) { s = Constant<value_ints = [32, 32]>() w = "
    "ConstantOfShape(s) q = MatMul(x, w) r = Constant<value_ints = [0, 0, 2, 16]>() h = Reshape(q, r) a = "
    "Transpose<perm = [0, 2, 1, 3]>(h) b = Transpose<perm = [0, 2, 3, 1]>(h) c = MatMul(a, b) p = "
    "Softmax<axis = -1>(c) o = MatMul(p, a) t = Transpose<perm = [0, 2, 1, 3]>(o) u = "
    "Constant<value_ints = [0, 0, 32]>() f = Reshape(t, u) g = MatMul(f, w) y = Add(g, x) }";

TEST(OpenSizes, AreNamesInShapesOfInputs) {
  const Sizes sizes = sizes_of(kAttention);
  ASSERT_EQ(sizes.open.size(), 2u);
  EXPECT_EQ(sizes.open[0].name, "N");
  EXPECT_EQ(sizes.open[1].name, "L");
  EXPECT_EQ(sizes.open[1].least, 1);
  EXPECT_FALSE(sizes.open[1].most);
  EXPECT_EQ(sizes.usual(Dim::symbol("N") * Dim::symbol("L") + Dim(2)), 130);
}

TEST(OpenSizes, EndWhereTheModelDoes) {
  // A table of 48 positions; a window of three rows.
  const Sizes sizes = sizes_of(
      "(float[1, L, 4] x, float[1, 2, H, 8] z) => (float[1, L, 4] y, float[1, 5, M, 6] v) { s = "
      "Constant<value_ints = [1, 48, 4]>() t = ConstantOfShape(s) n = Shape(x) k = Constant<value_ints = "
      "[1]>() l = Gather(n, k) o = Constant<value_ints = [0]>() p = Slice(t, o, l, k) y = Add(x, p) e = "
      "Constant<value_ints = [5, 2, 3, 3]>() w = ConstantOfShape(e) v = Conv(z, w) }");
  ASSERT_EQ(sizes.open.size(), 2u);
  EXPECT_EQ(sizes.open[0].most, 48);
  EXPECT_EQ(sizes.open[1].least, 3);
}

TEST(OpenSizes, OfAConditionOfTwoTheOneThatDecidesIsBounded) {
  // The smallest of all rows but the last one: there have to be two, of any length.
  const Sizes sizes = sizes_of(
      "(float[N, M] z) => (float[1, M] y) { zero = Constant<value_ints = [0]>() last = Constant<value_ints = "
      "[-1]>() s = Slice(z, zero, last, zero) y = ReduceMin(s, zero) }");
  ASSERT_EQ(sizes.open.size(), 2u);
  EXPECT_EQ(sizes.open[0].least, 2);
  EXPECT_EQ(sizes.open[1].least, 1);
  for (const OpenSize& size : sizes.open) EXPECT_EQ(size.step, 1) << size.name;
}

TEST(OpenSizes, GoByStepsWhereTensorsAreHalvedAndDoubled) {
  const std::string body =
      "(float[1, 2, H, W] x) => (float[1, 2, H, W] y) { a = MaxPool<kernel_shape = [2, 2], strides = [2, "
      "2]>(x) "
      "s = Constant<value_floats = [1.0, 1.0, 2.0, 2.0]>() b = Resize<mode = \"nearest\", "
      "coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\">(a, , s) y = Add(x, b) }";
  const Sizes sizes = sizes_of(body);
  ASSERT_EQ(sizes.open.size(), 2u);
  EXPECT_EQ(sizes.open[0].step, 2);
  EXPECT_EQ(sizes.open[1].step, 2);
  EXPECT_EQ(as_given(Dim(2) * Dim::symbol("H"), sizes), Dim::symbol("H"));
  const auto plan = planned(body);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(said(*plan), "");
}

TEST(OpenSizes, AreWithinTheirBounds) {
  const Sizes sizes{{{.name = "n", .most = 8}}};
  const Dim n = Dim::symbol("n");
  EXPECT_EQ(within(Dim::min(n, 8), sizes), n);
  EXPECT_EQ(within(Dim::min(n, 1), sizes), Dim(1));
  EXPECT_EQ(within(Dim::max(n, 1), sizes), n);
  EXPECT_EQ(within(Dim::min(n, 4), sizes), Dim::min(n, 4));
  EXPECT_EQ(unknown_size(n + Dim::symbol("other"), sizes), "other");
}

TEST(OpenSizes, ThatCanNotBeGivenAreRefused) {
  const auto refused =
      open_sizes(graph_of("(float[N, 4] x, float y) => (float[N, 4] z) { z = Add(x, y) }"), {});
  EXPECT_TRUE(refused);
  // N and M only where they are equal.
  const auto plan = planned("(float[N, 4] x, float[M, 4] y) => (float[N, 4] z) { z = Add(x, y) }");
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("Add"), std::string::npos) << plan.error().message;
}

TEST(OpenSizes, PlansAreRightAtAllOfThem) {
  for (const std::string& body : {
           kAttention,
           std::string("(float[N, 7] x) => (float[N, 7] y) { y = Softmax<axis = 0>(x) }"),
           std::string("(float[N, C, 5] x) => (float[N, 5, C] y) { a = Transpose<perm = [0, 2, 1]>(x) y = "
                       "Exp(a) }"),
           std::string(
               "(float[1, 3, H, W] x) => (float[1, 8, M, K] y) { s = Constant<value_ints = [8, 3, 3, "
               "3]>() w = ConstantOfShape(s) y = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, w) }"),
           std::string(
               "(float[1, 3, H, W] x) => (float[1, 8, M, K] y) { s = Constant<value_ints = [8, 3, 3, "
               "3]>() w = ConstantOfShape(s) a = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, w) r = "
               "Constant<value_ints = [8, 8, 3, 3]>() v = ConstantOfShape(r) y = Conv<pads = [1, 1, 1, "
               "1], strides = [2, 2]>(a, v) }"),
           std::string("(float[1, 3, H, W] x) => (float[1, 8, H, W] y) { s = Constant<value_ints = [8, 3, 1, "
                       "1]>() w = ConstantOfShape(s) y = Conv(x, w) }"),
           std::string("(float[N, K] x, float[K, M] y) => (float[N, M] z) { z = MatMul(x, y) }"),
       }) {
    const auto plan = planned(body);
    ASSERT_TRUE(plan) << body << '\n' << plan.error().message;
    EXPECT_EQ(said(*plan), "") << body;
  }
  const auto attention = planned(kAttention);
  EXPECT_GE(std::ranges::count_if(attention->nests, [](const Nest& n) { return n.tile.has_value(); }), 4);
}

TEST(OpenSizes, FaultsAreFoundAtSizesThatAreNotUsual) {
  const auto start = planned(kAttention);
  ASSERT_TRUE(start);
  ASSERT_EQ(said(*start), "");
  const Dim length = Dim::symbol("L");
  int found = 0, planted = 0;
  const auto plant = [&](const auto& change) {
    Plan plan = *start;
    if (!change(plan)) return;
    ++planted;
    const std::string wrong = said(plan);
    EXPECT_NE(wrong, "") << "fault " << planted;
    found += wrong.empty() ? 0 : 1;
  };
  for (std::size_t b = 0; b < start->buffers.size(); ++b) {
    // A number in the place of a size, which is the same at the usual one.
    plant([&](Plan& p) {
      Storage& s = p.buffers[b];
      const bool is_open = s.kind == Storage::Kind::Local && !s.size.is_concrete() && s.offset >= 0;
      s.size = p.sizes.usual(s.size);
      return is_open;
    });
    plant([&](Plan& p) {
      bool is_changed = false;
      Storage& s = p.buffers[b];
      for (Dim& d : s.strides)
        if (s.kind == Storage::Kind::Local && s.offset >= 0 && !d.is_concrete()) {
          d = p.sizes.usual(d);
          is_changed = true;
        }
      return is_changed;
    });
    plant([&](Plan& p) {
      const bool has_below = !p.buffers[b].below.empty();
      p.buffers[b].below.clear();
      return has_below;
    });
  }
  for (std::size_t n = 0; n < start->nests.size(); ++n) {
    // Loops that end where usual sizes do.
    plant([&](Plan& p) {
      bool is_changed = false;
      for (Loop& l : p.nests[n].loops)
        if (!l.axis.extent.is_concrete()) {
          l.axis.extent = p.sizes.usual(l.axis.extent);
          is_changed = true;
        }
      return is_changed;
    });
  }
  plant([&](Plan& p) {
    std::ranges::reverse(p.placed);
    return p.placed.size() > 1;
  });
  EXPECT_EQ(found, planted);
  EXPECT_GE(planted, 12);
}

}  // namespace
}  // namespace isomer::lower
