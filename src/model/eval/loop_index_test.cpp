#include "model/eval/loop_index.h"

#include <gtest/gtest.h>

#include <random>

namespace isomer {
namespace {

Axis axis(int id, const Dim& extent) { return {.id = id, .extent = extent}; }

// Every simplification against plain arithmetic: random indices, built with and evaluated at concrete
// numbers.
TEST(LoopIndex, SimplifiedFormsAgreeWithPlainArithmetic) {
  std::mt19937_64 random(7);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int trial = 0; trial < 2000; ++trial) {
    const std::vector<Axis> axes{axis(0, draw(1, 9)), axis(1, draw(1, 9)), axis(2, draw(1, 9))};
    const Slots slots{{0, 0}, {1, 1}, {2, 2}};
    const std::int64_t offset = draw(-5, 5);
    Index index = offset;
    std::vector<std::tuple<int, std::size_t, std::int64_t>>
        script;  // what was done, for the plain evaluation
    for (int step = 0; step < 6; ++step) {
      const auto what = static_cast<int>(draw(0, 2));
      const auto a = static_cast<std::size_t>(draw(0, 2));
      const std::int64_t b = what == 0 ? draw(-12, 12) : draw(1, 12);
      if (what == 0) index = index + Dim(b) * Index(axes[a]);
      else index = what == 1 ? Index::floor(index, b) : Index::mod(index, b);
      script.emplace_back(what, a, b);
    }
    const LoopIndex compiled(index, slots);
    for (int point = 0; point < 20; ++point) {
      std::int64_t at[3];
      for (std::size_t k = 0; k < 3; ++k) at[k] = draw(0, axes[k].extent.concrete() - 1);
      std::int64_t plain = offset;
      for (const auto& [what, a, b] : script)
        plain = what == 0 ? plain + b * at[a] : what == 1 ? floor_div(plain, b) : floor_mod(plain, b);
      const auto range = index.range();
      ASSERT_TRUE(range.has_value());
      EXPECT_EQ(compiled.at(at), plain) << index.text();
      EXPECT_LE(range->low.concrete(), plain);
      EXPECT_GE(range->high.concrete(), plain);
    }
  }
}

}  // namespace
}  // namespace isomer
