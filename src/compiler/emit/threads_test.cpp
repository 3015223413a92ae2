#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "compiler/schedule/legality.h"
#include "compiler/schedule/test_plan.h"
#include "model/expr/reads.h"

namespace isomer::lower {
namespace {

using testing::Lowered;

Lowered planned(const std::string& body, const StripLimits& limits = {}, const std::string& schedules = {}) {
  Lowered out = testing::scheduled(body, Exactness::Fast, schedules, limits);
  share_nests(out.plan, *parse_schedules(schedules));
  place_buffers(out.plan);
  return out;
}

std::string said(const Plan& plan) { return illegal(plan).value_or(""); }

const std::string kWinograd =
    "(float[2, 32, 40, 40] x) => (float[2, 32, 40, 40] y) "
    "{ s = Constant<value_ints = [32, 32, 3, 3]>() w = ConstantOfShape(s) e = Exp(x) c = Conv<pads = [1, 1, "
    "1, 1]>(e, w) d = Relu(c) y = Conv<pads = [1, 1, 1, 1]>(d, w) }";
const std::string kProducts =
    "(float[300, 64] x, float[2, 64] z) => (float[300, 64] y, float[2, 1024] v) "
    "{ s = Constant<value_ints = [64, 64]>() w = ConstantOfShape(s) t = Constant<value_ints = [64, 1024]>() "
    "u = ConstantOfShape(t) y = MatMul(x, w) v = MatMul(z, u) }";
std::string block(int rows) {
  return fmt::format(
      "(float[1, 16, {0}, 48] x) => (float[1, 24, {0}, 48] y) {{ sa = Constant<value_ints = [96, 16, 1, "
      "1]>() "
      "a = ConstantOfShape(sa) sb = Constant<value_ints = [96, 1, 3, 3]>() b = ConstantOfShape(sb) sc = "
      "Constant<value_ints = [24, 96, 1, 1]>() c = ConstantOfShape(sc) d = Conv(x, a) f = Relu(d) g = "
      "Conv<group = 96, pads = [1, 1, 1, 1]>(f, b) h = Relu(g) y = Conv(h, c) }}",
      rows);
}

TEST(Threads, DivideWhatIsWorthIt) {
  const Lowered products = planned(kProducts);
  EXPECT_EQ(said(products.plan), "");
  std::set<Tile::Shared> shared;
  for (const Nest& n : products.plan.nests)
    if (n.tile) shared.insert(n.tile->shared);
  EXPECT_EQ(shared, (std::set{Tile::Shared::Rows, Tile::Shared::Columns}));

  const Lowered small = planned("(float[10] x) => (float[10] y) { y = Exp(x) }");
  EXPECT_FALSE(is_shared(small.plan.nests[0]));
  const Lowered large = planned("(float[100000] x) => (float[100000] y) { y = Exp(x) }");
  EXPECT_TRUE(is_shared(large.plan.nests[0]));
  EXPECT_EQ(said(large.plan), "");
  EXPECT_EQ(large.plan.thread_workspace, 0);
}

TEST(Threads, EachHasScratchMemoryOfItsOwn) {
  Lowered a = planned(kWinograd);
  EXPECT_EQ(said(a.plan), "");
  ASSERT_GE(std::ranges::count_if(a.plan.nests, [](const Nest& n) { return n.winograd.has_value(); }), 1);
  std::int64_t most = 0;
  for (const Storage& s : a.plan.buffers)
    if (s.each_thread) most = std::max(most, s.size.concrete() * 4);
  EXPECT_GT(most, 0);
  EXPECT_EQ(a.plan.thread_workspace, (most + 63) / 64 * 64);  // convolutions that follow each other share it

  Plan wrong = a.plan;
  wrong.thread_workspace -= 64;
  EXPECT_NE(said(wrong).find("thread's memory"), std::string::npos);
  wrong = a.plan;
  for (Storage& s : wrong.buffers) s.each_thread = false;
  EXPECT_NE(said(wrong).find("scratch memory"), std::string::npos);
  wrong = a.plan;
  for (Storage& s : wrong.buffers) s.each_thread = s.kind == Storage::Kind::Local;
  EXPECT_NE(said(wrong), "");
}

TEST(Threads, DivideTheRowsOfAStrip) {
  const Lowered a = planned(block(3), {.worth = 0, .rings = std::int64_t{1} << 20});
  EXPECT_EQ(said(a.plan), "");
  ASSERT_TRUE(std::ranges::any_of(a.plan.nests, [](const Nest& n) { return n.strip && is_shared(n); }));
  // With fewer rows than one strip has, two of them are one place.
  Plan wrong = a.plan;
  for (Nest& n : wrong.nests)
    if (n.strip && is_shared(n))
      for (Storage* s = &wrong.buffer(n.target); s->ring > 0; s->ring = 0)
        for (std::int64_t& done : n.strip->done) done = n.strip->done.back();
  EXPECT_NE(said(wrong), "");
}

// Every second row is read; all of a strip are written at the same time.
TEST(Threads, WriteRowsThatNobodyReads) {
  const Lowered a = planned(
      "(float[1, 16, 6, 448] x) => (float[1, 64, 3, 224] y) { sa = Constant<value_ints = [256, 16, 1, 1]>() "
      "a = "
      "ConstantOfShape(sa) sb = Constant<value_ints = [64, 256, 1, 1]>() b = ConstantOfShape(sb) d = Conv(x, "
      "a) "
      "y = Conv<strides = [2, 2]>(d, b) }",
      {.worth = 0, .rings = std::int64_t{1} << 24});
  ASSERT_TRUE(std::ranges::any_of(a.plan.nests, [](const Nest& n) { return n.strip && is_shared(n); }));
  EXPECT_EQ(said(a.plan), "");
}

std::vector<std::size_t> divided(const Plan& plan) {
  std::vector<std::size_t> out;
  for (std::size_t n = 0; n < plan.nests.size(); ++n)
    if (plan.nests[n].strip && plan.nests[n].strip->apart) out.push_back(n);
  return out;
}

TEST(Threads, EachDoesWhatItsOwnRowsNeed) {
  const Lowered a = planned(block(64), {.worth = 0, .rings = std::int64_t{1} << 20});
  EXPECT_EQ(said(a.plan), "");
  const auto nests = divided(a.plan);
  ASSERT_EQ(nests.size(), 3u);
  const auto needed = [&](std::size_t n, std::size_t from, std::size_t to) {
    const Strip& s = *a.plan.nests[nests[n]].strip;
    return std::pair{s.first[from], s.last[to]};
  };
  EXPECT_EQ(needed(2, 20, 40), (std::pair<std::int64_t, std::int64_t>(20, 40)));
  EXPECT_EQ(needed(1, 20, 40), (std::pair<std::int64_t, std::int64_t>(20, 40)));
  EXPECT_EQ(needed(0, 20, 40), (std::pair<std::int64_t, std::int64_t>(19, 41)));  // a row more on each side
  EXPECT_EQ(needed(0, 0, 64), (std::pair<std::int64_t, std::int64_t>(0, 64)));
  EXPECT_GT(a.plan.thread_workspace, 0);
  EXPECT_NE(text(a.plan.nests[nests[0]], a.plan).find("threads divide"), std::string::npos);

  int planted = 0;
  const auto plant = [&](const char* why, const auto& fault) {
    Plan wrong = a.plan;
    fault(wrong);
    EXPECT_NE(said(wrong).find(why), std::string::npos) << ++planted << ": " << said(wrong);
  };
  const auto strip = [&](Plan& p, std::size_t n) -> Strip& { return *p.nests[nests[n]].strip; };
  const auto target = [&](Plan& p, std::size_t n) -> Storage& { return p.buffer(p.nests[nests[n]].target); };
  plant("before those", [&](Plan& p) { strip(p, 0).first[20] = 20; });
  plant("behind those", [&](Plan& p) { strip(p, 0).last[40] = 40; });
  plant("behind those", [&](Plan& p) { strip(p, 1).last[40] = 39; });
  plant("leave out", [&](Plan& p) { strip(p, 0).first[0] = 1; });
  plant("leave out", [&](Plan& p) { strip(p, 0).last[64] = 63; });
  plant("leave out", [&](Plan& p) { strip(p, 0).first.pop_back(); });
  plant("leave out", [&](Plan& p) { std::swap(strip(p, 0).first[30], strip(p, 0).first[40]); });
  plant("leave out", [&](Plan& p) { strip(p, 0).first[63] = 64; });
  plant("twice", [&](Plan& p) { strip(p, 2).last[40] = 41; });
  plant("twice", [&](Plan& p) { strip(p, 2).first[41] = 40; });
  plant("threads share", [&](Plan& p) { target(p, 0).each_thread = false; });
  plant("threads share", [&](Plan& p) { target(p, 2).each_thread = true; });
  plant("for itself is read by others", [&](Plan& p) { strip(p, 2).apart = false; });
  plant("for itself is written for others", [&](Plan& p) { strip(p, 0).apart = false; });
  plant("what one of them does", [&](Plan& p) { p.nests[nests[0]].tile->shared = Tile::Shared::Rows; });
  plant("overlap", [&](Plan& p) { target(p, 1).thread_offset = target(p, 0).thread_offset; });
}

// Whatever rows a thread has, what it reads is what it wrote: a memory of rows shows it, for every part.
TEST(Threads, RunAnyRowsOfStrips) {
  for (const char* windows : {"pads = [1, 1, 1, 1]", "pads = [1, 1, 1, 1], strides = [2, 2]",
                              "pads = [2, 2, 2, 2], dilations = [2, 2]", "strides = [2, 2]",
                              "pads = [0, 0, 1, 0], strides = [3, 3]"}) {
    const Lowered a = planned(
        fmt::format(
            "(float[1, 16, 37, 40] x) => (float y) {{ sa = Constant<value_ints = [64, 16, 1, 1]>() a = "
            "ConstantOfShape(sa) sb = Constant<value_ints = [64, 1, 3, 3]>() b = ConstantOfShape(sb) sc = "
            "Constant<value_ints = [64, 64, 1, 1]>() c = ConstantOfShape(sc) d = Conv(x, a) g = "
            "Conv<group = 64, {0}>(d, b) h = Conv(g, c) y = Conv<group = 64, pads = [1, 1, 1, 1]>(h, b) }}",
            windows),
        {.worth = 0, .rings = std::int64_t{1} << 18});
    EXPECT_EQ(said(a.plan), "");
    const auto nests = divided(a.plan);
    ASSERT_GE(nests.size(), 2u) << windows;
    const Strip& end = *a.plan.nests[nests.back()].strip;
    const auto rows = static_cast<std::size_t>(end.done.back());
    for (std::size_t low = 0; low < rows; ++low)
      for (std::size_t high = low + 1; high <= rows; ++high) {
        std::map<std::pair<int, std::int64_t>, std::int64_t>
            memory;  // of a buffer and a place: the row there
        for (const std::size_t n : nests) {
          const Storage& s = a.plan.buffer(a.plan.nests[n].target);
          for (std::int64_t r = 0; s.ring > 0 && !s.low.empty() && r < s.low[2]; ++r)
            memory[{a.plan.nests[n].target, r}] = r - s.low[2];
        }
        std::size_t wrong = 0, done = 0;
        for (std::size_t k = 0; k < end.done.size(); ++k)
          for (const std::size_t n : nests) {
            const Nest& nest = a.plan.nests[n];
            const Strip& strip = *nest.strip;
            const std::int64_t from = std::max(k == 0 ? 0 : strip.done[k - 1], strip.first[low]),
                               to = std::min(strip.done[k], strip.last[high]);
            const Storage& s = a.plan.buffer(nest.target);
            const std::int64_t all = s.extents[2].concrete();
            const std::int64_t before = s.low.empty() ? 0 : s.low[2], after = s.high.empty() ? 0 : s.high[2];
            for (std::int64_t r = from; r < to; ++r) {
              std::vector<Axis> reduced;
              for_each_read(*nest.value, reduced, [&](const ExprNode& e, const std::vector<Axis>&) {
                const Storage& of = a.plan.buffer(e.tensor.number);
                if (of.ring == 0) return;
                const auto range = with_axes(e.at[2], {{strip.rows.id, Index(r)}}).range();
                const std::int64_t top = of.low.empty() ? 0 : of.low[2],
                                   under = of.high.empty() ? 0 : of.high[2];
                const std::int64_t first = range->low.concrete(), last = range->high.concrete();
                for (std::int64_t q = std::max(first, -top);
                     q <= std::min(last, of.extents[2].concrete() + under - 1); ++q) {
                  const auto at = memory.find({e.tensor.number, (q + top) % of.ring});
                  wrong += at == memory.end() || at->second != q ? 1 : 0;
                }
              });
              if (s.ring > 0) memory[{nest.target, (r + before) % s.ring}] = r;
              else done += n == nests.back() ? 1 : 0;
            }
            for (std::int64_t r = 0; s.ring > 0 && from < to && to == all && r < after; ++r)
              memory[{nest.target, (all + r + before) % s.ring}] = all + r;
          }
        ASSERT_EQ(wrong, 0u) << windows << ": rows " << low << " to " << high;
        ASSERT_EQ(done, high - low);
      }
  }
}

TEST(Threads, DividePanelsOfLargeWeights) {
  const Lowered a = planned(
      "(float[1, 256, 14, 14] x) => (float[1, 256, 14, 14] y) { s = Constant<value_ints = [256, 256, 3, "
      "3]>() w "
      "= "
      "ConstantOfShape(s) e = Exp(x) y = Conv<pads = [1, 1, 1, 1]>(e, w) }");
  EXPECT_EQ(said(a.plan), "");
  const auto nest = std::ranges::find_if(a.plan.nests, [](const Nest& n) { return n.winograd.has_value(); });
  ASSERT_NE(nest, a.plan.nests.end());
  EXPECT_EQ(nest->winograd->shared, Tile::Shared::Columns);
  EXPECT_NE(text(*nest, a.plan).find("  parallel columns\n"), std::string::npos);
  for (const Lowered b = planned(kWinograd); const Nest& n : b.plan.nests)
    EXPECT_TRUE(!n.winograd || n.winograd->shared == Tile::Shared::Rows);
}

TEST(Threads, NoTwoOfThemAddToOneSum) {
  const std::string product =
      "(float[12, 20] x, float[20, 30] w) => (float[12, 30] y) { [p] y = MatMul(x, w) }";
  const auto with = [&](const std::string& lines) {
    return said(planned(product, {}, "nest p\n" + lines).plan);
  };
  EXPECT_EQ(with("parallel i0"), "");
  EXPECT_EQ(with("parallel i0\nparallel i1"), "");
  EXPECT_EQ(with("split i1 8\nfuse i0 i1.o\nparallel i0.i1.o"), "");
  EXPECT_EQ(with("tensorize\nparallel rows"), "");
  EXPECT_EQ(with("tensorize\nparallel columns"), "");
  EXPECT_NE(with("parallel i1").find("inside of one that is not"), std::string::npos);
  EXPECT_NE(with("reorder r0 i1 i0\nparallel r0").find("two threads write"), std::string::npos);
  EXPECT_NE(with("split r0 4\nreorder r0.o i1 i0\nparallel r0.o").find("two threads write"),
            std::string::npos);
}

TEST(Threads, AreLinesOfASchedule) {
  const Lowered chosen = planned(kProducts);
  int lines = 0;
  for (const Nest& n : chosen.plan.nests)
    lines += text(n, chosen.plan).find("\n  parallel ") != std::string::npos ? 1 : 0;
  EXPECT_EQ(lines, 2);
  for (const char* lines_of :
       {"tensorize\nparallel", "tensorize\nparallel sideways", "tensorize F(4,3)\nparallel i0"}) {
    std::vector<std::string> each;
    const std::string all = lines_of;
    for (std::size_t at = 0; at < all.size();
         at = all.find('\n', at) == std::string::npos ? all.size() : all.find('\n', at) + 1)
      each.push_back(all.substr(at, all.find('\n', at) - at));
    EXPECT_FALSE(tile_request(each)) << lines_of;
  }
}

// Whether two units write one position, by running the loops.
bool writes_apart(const Nest& nest) {
  std::map<std::vector<std::int64_t>, std::vector<std::int64_t>> writer;
  const std::size_t shared = shared_loops(nest).size();
  std::vector<std::int64_t> at(nest.loops.size(), 0);
  for (bool goes_on = true; goes_on;) {
    AxisMap by, axes;
    for (std::size_t k = 0; k < at.size(); ++k) by[nest.loops[k].axis.id] = Index(at[k]);
    for (const AxisOfLoops& a : nest.of) axes[a.axis.id] = with_axes(a.index, by);
    const auto number = [](const Index& i) { return i.offset().concrete(); };
    if (std::ranges::all_of(nest.guard, [&](const Index& g) { return number(with_axes(g, by)) >= 0; })) {
      std::vector<std::int64_t> position;
      for (const Index& i : nest.at) position.push_back(number(with_axes(i, axes)));
      const std::vector<std::int64_t> unit(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(shared));
      if (writer.try_emplace(position, unit).first->second != unit) return false;
    }
    goes_on = false;
    for (std::size_t k = at.size(); k-- > 0 && !goes_on;) {
      goes_on = ++at[k] < nest.loops[k].axis.extent.concrete();
      if (!goes_on) at[k] = 0;
    }
  }
  return true;
}

TEST(Threads, TheCheckerAgreesWithRunningRandomLoops) {
  std::mt19937_64 random(5);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  Lowered start = planned("(float[6, 5] x, float[5, 4] w) => (float[6, 4] y) { y = MatMul(x, w) }");
  Nest& first = start.plan.nests.back();
  first.tile.reset();
  first.lanes = false;
  first.reduction = main_reduction(first.value);
  reset_loops(first, start.plan);
  int legal = 0, refused = 0;
  for (int round = 0; round < 300; ++round) {
    Lowered a = start;
    Nest& nest = a.plan.nests.back();
    for (std::size_t steps = 1 + below(3); steps > 0; --steps)
      testing::apply_random_step(nest, a.numbers, below);
    ASSERT_EQ(illegal(a.plan, nest), std::nullopt);
    for (std::size_t k = 0; k <= below(nest.loops.size()); ++k) nest.loops[k].kind = Loop::Kind::Parallel;
    const bool is_legal = !illegal(a.plan, nest);
    EXPECT_EQ(is_legal, writes_apart(nest)) << text(nest, a.plan);
    (is_legal ? legal : refused) += 1;
  }
  EXPECT_GT(legal, 50);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace isomer::lower
