#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "compiler/loops/open_sizes.h"
#include "compiler/schedule/legality.h"
#include "compiler/schedule/test_plan.h"

namespace isomer::lower {
namespace {

constexpr StripLimits kAlways{.worth = 0, .rings = std::int64_t{1} << 20};

Plan planned(const std::string& body, const StripLimits& limits = kAlways,
             const std::string& schedules = {}) {
  testing::Lowered out = testing::scheduled(body, Exactness::Fast, schedules, limits);
  place_buffers(out.plan);
  return std::move(out.plan);
}

std::string weights(const std::string& name, const std::string& shape) {
  return "s" + name + " = Constant<value_ints = [" + shape + "]>() " + name + " = ConstantOfShape(s" + name +
         ") ";
}

// An inverted residual block: wider, a window for each channel, narrower again.
std::string block(const std::string& stride) {
  return "(float[1, 16, 32, 24] x) => (float[1, 24, " + std::string(stride == "2" ? "16, 12" : "32, 24") +
         "] y) { " + weights("a", "32, 16, 1, 1") + weights("b", "32, 1, 3, 3") +
         weights("c", "24, 32, 1, 1") +
         "e = Exp(x) d = Conv(e, a) f = Relu(d) g = Conv<group = 32, pads = [1, 1, 1, 1], strides = [" +
         stride + ", " + stride + "]>(f, b) h = Relu(g) y = Conv(h, c) }";
}

std::size_t rings(const Plan& plan) {
  return static_cast<std::size_t>(
      std::ranges::count_if(plan.buffers, [](const Storage& s) { return s.ring > 0; }));
}

TEST(Strips, ABlockKeepsAFewRowsOfWhatIsInsideOfIt) {
  for (const char* stride : {"1", "2"}) {
    const Plan plan = planned(block(stride));
    EXPECT_EQ(illegal(plan), std::nullopt);
    EXPECT_EQ(rings(plan), 3u);  // of the exponential, too
    const Plan whole = planned(block(stride), {});
    EXPECT_EQ(rings(whole), 0u);
    EXPECT_EQ(illegal(whole), std::nullopt);
    EXPECT_LT(plan.workspace, whole.workspace);
  }
}

// What Isomer chooses is shown as lines, and lines that are given are obeyed.
TEST(Strips, AreLinesOfASchedule) {
  const Plan chosen = planned(block("1"));
  std::vector<std::string> names;
  for (const Nest& nest : chosen.nests)
    if (nest.strip) names.push_back(nest.name);
  ASSERT_EQ(names.size(), 4u);
  EXPECT_NE(text(chosen.nests[1], chosen).find("  compute_at " + names[3] + " 8\n"), std::string::npos);
  const std::string lines = "nest " + names[1] + "\ncompute_at " + names[2] + " 2\ntensorize\n";
  const Plan plan = planned(block("1"), {}, lines);
  EXPECT_EQ(illegal(plan), std::nullopt);
  EXPECT_EQ(rings(plan), 1u);
  const auto at = std::ranges::find(plan.nests, names[1], &Nest::name);
  ASSERT_NE(at, plan.nests.end());
  ASSERT_TRUE(at->strip && at->tile);
  EXPECT_NE(text(*at, plan).find("  compute_at " + names[2] + " 2\n"), std::string::npos);
  // Loops of rows that are no rows any more: refused.
  const Plan split =
      planned(block("1"), {}, "nest " + names[1] + "\ncompute_at " + names[2] + " 2\nsplit i2 4\n");
  EXPECT_NE(illegal(split), std::nullopt);
}

TEST(Strips, WhatSeveralNeedStaysWhole) {
  const Plan plan = planned("(float[1, 7, 32, 24] x) => (float[1, 7, 32, 24] y, float[1, 7, 32, 24] z) { " +
                            weights("b", "7, 1, 3, 3") +
                            "e = Exp(x) y = Conv<group = 7, pads = [1, 1, 1, 1]>(e, b) z = Sub(x, e) }");
  EXPECT_EQ(rings(plan), 0u);
  EXPECT_EQ(illegal(plan), std::nullopt);
}

TEST(Strips, TooMuchForTheCacheIsCutOrStaysWhole) {
  const Plan part = planned(block("1"), {.worth = 0, .rings = 13'000});
  EXPECT_LT(rings(part), 3u);
  EXPECT_EQ(illegal(part), std::nullopt);
  EXPECT_EQ(rings(planned(block("1"), {.worth = 0, .rings = 100})), 0u);
}

// Each nest of it reads the row that others have written, and all but the last of them write into rings.
const std::string kSoftmax =
    "(float[2, 3, 24, 40] x) => (float[2, 3, 24, 40] y) { e = Exp(x) s = Softmax(e) y = Sub(s, e) }";
constexpr StripLimits kByRows{.rings = std::int64_t{1} << 14, .worth_by_rows = 1 << 13};

TEST(Strips, ASoftmaxGoesRowByRow) {
  const Plan plan = planned(kSoftmax, kByRows);
  EXPECT_EQ(illegal(plan), std::nullopt);
  EXPECT_GE(rings(plan), 2u);
  EXPECT_TRUE(std::ranges::any_of(plan.buffers, [](const Storage& s) { return s.ring > 1; }));
  EXPECT_TRUE(std::ranges::all_of(plan.nests, [](const Nest& nest) { return nest.strip.has_value(); }));
  const Plan whole = planned(kSoftmax, {});
  EXPECT_EQ(rings(whole), 0u);
  EXPECT_LT(plan.workspace, whole.workspace);
  // The lines that say so make it again.
  const std::string last = plan.nests.back().name;
  const Plan again = planned(kSoftmax, {}, "nest " + plan.nests[0].name + "\ncompute_at " + last + " 2\n");
  EXPECT_EQ(illegal(again), std::nullopt);
  EXPECT_EQ(rings(again), rings(plan));
  // A ring of fewer rows than a strip has.
  Plan faulty = plan;
  for (Storage& s : faulty.buffers)
    if (s.ring > 1) --s.ring;
  EXPECT_NE(illegal(faulty), std::nullopt);
}

// A product wants many rows at once, and a sum over rows has none.
TEST(Strips, ProductsAndSumsOverRowsStayWhole) {
  for (const char* body :
       {"(float[24, 40] x, float[40, 40] w) => (float[24, 40] y) { e = Exp(x) m = MatMul(e, w) y = Sub(m, e) "
        "}",
        "(float[24, 40] x) => (float[24, 40] y) { e = Exp(x) a = Constant<value_ints = [0, 1]>() "
        "m = ReduceSum(e, a) y = Sub(e, m) }"}) {
    const Plan plan = planned(body, kByRows);
    EXPECT_EQ(illegal(plan), std::nullopt);
    EXPECT_EQ(rings(plan), 0u);
  }
}

TEST(Strips, PlantedFaultsAreFound) {
  const Plan good = planned(block("1"));
  ASSERT_EQ(illegal(good), std::nullopt);
  std::vector<std::size_t> cut, round;
  for (std::size_t n = 0; n < good.nests.size(); ++n)
    if (good.nests[n].strip) cut.push_back(n);
  for (std::size_t b = 0; b < good.buffers.size(); ++b)
    if (good.buffers[b].ring > 0) round.push_back(b);
  ASSERT_GE(cut.size(), 4u);
  ASSERT_GE(round.size(), 2u);
  int planted = 0, found = 0;
  const auto plant = [&](const std::function<void(Plan&)>& fault) {
    Plan plan = good;
    fault(plan);
    ++planted;
    const auto wrong = illegal(plan);
    EXPECT_NE(wrong, std::nullopt) << "fault " << planted;
    found += wrong ? 1 : 0;
  };
  const auto strip = [&](Plan& p, std::size_t k) -> Strip& { return *p.nests[cut[k]].strip; };
  for (const std::size_t b : round) plant([&](Plan& p) { p.buffers[b].ring -= 1; });
  plant([&](Plan& p) { p.buffers[round[1]].ring_axis = 3; });
  plant([&](Plan& p) { p.buffers[round[1]].kind = Storage::Kind::Output; });
  plant([&](Plan& p) { p.buffers[round[1]].size = p.buffers[round[1]].size - Dim(1); });
  plant([&](Plan& p) { p.buffers[round[1]].strides[2] = p.buffers[round[1]].strides[2] - Dim(1); });
  plant([&](Plan& p) { strip(p, 1).done[0] -= 1; });
  plant([&](Plan& p) { strip(p, 1).done[0] += 8; });
  plant([&](Plan& p) { strip(p, 2).done.back() -= 1; });
  plant([&](Plan& p) { strip(p, 2).done.pop_back(); });
  plant([&](Plan& p) { std::swap(strip(p, 2).done[0], strip(p, 2).done[1]); });
  plant([&](Plan& p) { strip(p, 1).group += 1; });
  plant([&](Plan& p) { strip(p, 3).group += 1; });
  plant([&](Plan& p) { p.nests[cut[2]].strip.reset(); });
  plant([&](Plan& p) { std::swap(p.nests[cut[1]], p.nests[cut[2]]); });
  plant([&](Plan& p) {
    Strip& s = strip(p, 2);
    s.rows = *std::ranges::find_if(p.nests[cut[2]].axes, [&](const Axis& a) { return a.extent.is(24); });
  });
  // What is used in turns must not share memory with what lives beside it.
  plant([&](Plan& p) { p.buffers[round[0]].offset = p.buffers[round[1]].offset; });
  EXPECT_EQ(found, planted);
}

// A tensor that one nest writes and the next one reads through a window, with random strips and rings: what
// the checker accepts is what a memory of rows, each with its number, shows.
TEST(Strips, TheCheckerAgreesWithRunningThem) {
  std::mt19937_64 random(11);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  int legal = 0, refused = 0;
  for (const char* stride : {"1", "2"}) {
    const std::int64_t step = stride[0] - '0';
    const Plan start =
        planned("(float[1, 7, 20, 28] x) => (float[1, 7, " +
                std::string(stride[0] == '1' ? "20, 28" : "10, 14") + "] y) { " + weights("b", "7, 1, 3, 3") +
                "e = Exp(x) y = Conv<group = 7, pads = [1, 1, 1, 1], strides = [" + stride + ", " + stride +
                "]>(e, b) }");
    ASSERT_EQ(start.nests.size(), 2u);
    ASSERT_TRUE(start.nests[0].strip && start.nests[1].strip);
    for (int round = 0; round < 400; ++round) {
      Plan plan = start;
      const auto buffer = static_cast<std::size_t>(plan.nests[0].target);
      Storage& s = plan.buffers[buffer];
      const std::int64_t rows = s.extents[2].concrete(), low = s.low[2], high = s.high[2];
      const std::int64_t count = 2 + below(6);
      for (Nest& nest : plan.nests) {
        Extents& done = nest.strip->done;
        done.clear();
        for (std::int64_t k = 0; k + 1 < count; ++k)
          done.push_back(
              std::min<std::int64_t>(nest.strip->rows.extent.concrete(),
                                     (k + 1) * nest.strip->rows.extent.concrete() / count + below(3)));
        if (&nest == &plan.nests[0])
          for (std::int64_t& d : done) d = std::min(d + below(4), rows);
        std::ranges::sort(done);
        done.push_back(nest.strip->rows.extent.concrete());
      }
      s.ring = 3 + below(rows);
      lay_out(s, order_of(s, plan.sizes));
      place_buffers(plan);
      std::map<std::int64_t, std::int64_t> memory;
      for (std::int64_t r = -low; r < 0; ++r) memory[(r + low) % s.ring] = r;
      bool is_right = true;
      for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
        const auto from = [&](std::size_t n) { return k == 0 ? 0 : plan.nests[n].strip->done[k - 1]; };
        const auto to = [&](std::size_t n) { return plan.nests[n].strip->done[k]; };
        for (std::int64_t r = from(0); r < to(0) + (from(0) < rows && to(0) == rows ? high : 0); ++r)
          memory[(r + low) % s.ring] = r;
        for (std::int64_t r = from(1); r < to(1); ++r)
          for (std::int64_t w = -1; w <= 1; ++w) {
            const auto at = memory.find((step * r + w + low) % s.ring);
            is_right = is_right && at != memory.end() && at->second == step * r + w;
          }
      }
      const auto wrong = illegal(plan);
      EXPECT_EQ(is_right, !wrong) << wrong.value_or("accepted") << ", ring " << s.ring;
      (wrong ? refused : legal) += 1;
    }
  }
  EXPECT_GT(legal, 50);
  EXPECT_GT(refused, 100);
}

// A window behind a function, of images of any height and width.
std::string open_window(const char* stride) {
  return "(float[1, 7, H, W] x) => (float[1, 7, M, K] y) { " + weights("b", "7, 1, 3, 3") +
         "e = Exp(x) y = Conv<group = 7, pads = [1, 1, 1, 1], strides = [" + std::string(stride) + ", " +
         stride + "]>(e, b) }";
}

Plan planned_open(const std::string& body) {
  AxisNumbers numbers;
  const Graph graph = testing::graph_of(body);
  auto plan = lower_graph(graph, {}, numbers, *open_sizes(graph, {}));
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
  compose_nests(*plan, numbers);
  choose_layouts(*plan, numbers);
  EXPECT_TRUE(choose_strips(*plan, kAlways));
  EXPECT_TRUE(schedule_nests(*plan, numbers));
  place_buffers(*plan);
  return *std::move(plan);
}

TEST(Strips, OfOpenSizesAreLegalAtEverySize) {
  for (const char* stride : {"1", "2"}) {
    const Plan plan = planned_open(open_window(stride));
    EXPECT_EQ(rings(plan), 1u);
    EXPECT_EQ(illegal(plan), std::nullopt);
    ASSERT_TRUE(plan.nests[0].strip && plan.nests[0].strip->open);
  }
}

TEST(Strips, PlantedFaultsOfOpenSizesAreFound) {
  const Plan good = planned_open(open_window("2"));
  ASSERT_EQ(illegal(good), std::nullopt);
  const auto buffer = static_cast<std::size_t>(good.nests[0].target);
  ASSERT_GT(good.buffers[buffer].ring, 0);
  const auto plant = [&](const char* what, const std::function<void(Plan&)>& fault) {
    Plan plan = good;
    fault(plan);
    EXPECT_NE(illegal(plan), std::nullopt) << what;
  };
  const auto open = [](Plan& p, std::size_t n) -> Strip::Open& { return *p.nests[n].strip->open; };
  plant("a ring of one row less", [&](Plan& p) { p.buffers[buffer].ring -= 1; });
  plant("rows that come late", [&](Plan& p) { open(p, 0).offset -= 1; });
  plant("rows that come ever later", [&](Plan& p) { open(p, 0).step -= 1; });
  plant("a strip less", [&](Plan& p) { open(p, 0).count = open(p, 0).count - Dim(1); });
  plant("no strip at all", [&](Plan& p) { open(p, 0).count = open(p, 1).count = Dim(0); });
  plant("steps back", [&](Plan& p) { open(p, 1).step = -1; });
  plant("another group", [&](Plan& p) { p.nests[1].strip->group += 1; });
  plant("the nests the other way round", [&](Plan& p) { std::swap(p.nests[0], p.nests[1]); });
  plant("rings along another axis", [&](Plan& p) { p.buffers[buffer].ring_axis = 3; });
  plant("an output", [&](Plan& p) { p.buffers[buffer].kind = Storage::Kind::Output; });
}

// The memory of rows, each with its number, where sizes are open: what the checker accepts is right at each
// height, and what it refuses is wrong at one.
TEST(Strips, TheCheckerAgreesWithRunningThemAtManyHeights) {
  std::mt19937_64 random(13);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  int legal = 0, refused = 0, careful = 0;
  for (const char* stride : {"1", "2"}) {
    const std::int64_t step = stride[0] - '0';
    const Plan start = planned_open(open_window(stride));
    const std::int64_t low = start.buffer(start.nests[0].target).low[2],
                       high = start.buffer(start.nests[0].target).high[2];
    for (int round = 0; round < 150; ++round) {
      Plan plan = start;
      Storage& s = plan.buffer(plan.nests[0].target);
      Strip::Open &writer = *plan.nests[0].strip->open, &reader = *plan.nests[1].strip->open;
      reader.step = 1 + below(4);
      reader.count = writer.count =
          Dim::floor(plan.nests[1].strip->rows.extent + Dim(reader.step - 1), reader.step);
      writer.step = std::max<std::int64_t>(1, step * reader.step + (below(4) == 0 ? below(3) - 1 : 0));
      writer.offset = below(4) - 1;
      s.ring = 1 + below(2 * step * reader.step + 4);
      lay_out(s, order_of(s, plan.sizes));
      place_buffers(plan);
      const auto is_right_at = [&](std::int64_t height) {
        const std::int64_t out = (height + step - 1) / step, count = (out + reader.step - 1) / reader.step;
        const auto done = [&](const Strip::Open& o, std::int64_t all, std::int64_t k) {
          return k == count ? all : k == 0 ? 0 : std::clamp<std::int64_t>(o.step * k + o.offset, 0, all);
        };
        std::map<std::int64_t, std::int64_t> memory;
        for (std::int64_t r = -low; r < 0; ++r) memory[(r + low) % s.ring] = r;
        for (std::int64_t k = 1; k <= count; ++k) {
          const std::int64_t from = done(writer, height, k - 1), to = done(writer, height, k);
          for (std::int64_t r = from; r < to + (from < height && to == height ? high : 0); ++r)
            memory[(r + low) % s.ring] = r;
          for (std::int64_t r = done(reader, out, k - 1); r < done(reader, out, k); ++r)
            for (std::int64_t w = -1; w <= 1; ++w) {
              const auto at = memory.find((step * r + w + low) % s.ring);
              if (at == memory.end() || at->second != step * r + w) return false;
            }
        }
        return true;
      };
      std::int64_t wrong_at = 0;
      for (std::int64_t height = 1; height <= 40 && wrong_at == 0; ++height)
        if (!is_right_at(height)) wrong_at = height;
      const auto wrong = illegal(plan);
      if (!wrong) {
        EXPECT_EQ(wrong_at, 0) << "accepted, ring " << s.ring;
      }
      (!wrong ? legal : wrong_at == 0 ? careful : refused) += 1;
    }
  }
  EXPECT_GT(legal, 20);
  EXPECT_GT(refused, 50);
  EXPECT_LT(careful, 20);  // refused, and right all the same
}

}  // namespace
}  // namespace isomer::lower
