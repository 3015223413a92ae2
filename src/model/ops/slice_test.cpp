#include <limits>

#include "model/ops/shared/test_call.h"

namespace isomer {
namespace {

using testing::HasSubstr;

const Dim kLength = Dim::symbol("length");
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                       kLeast = std::numeric_limits<std::int64_t>::min();

Call slice(const Dim& extent, Dim start, Dim end, std::int64_t step = 1) {
  Call call = float_call(13, {{extent}});
  for (const Dim& bound : {std::move(start), std::move(end), Dim(0), Dim(step)})
    call = with_integers(std::move(call), {bound});
  return call;
}

std::string value_of(const Call& call) {
  const Definition definition = defined("Slice", call);
  const auto* formula = std::get_if<Formula>(&definition);
  return formula ? text(formula->output(0).value) : "no formula";
}

// What numpy's x[start:end:step] has, by going through it.
std::vector<std::int64_t> taken(std::int64_t extent, std::int64_t start, std::int64_t end,
                                std::int64_t step) {
  const auto from_end = [&](std::int64_t bound) { return bound < 0 ? bound + extent : bound; };
  std::vector<std::int64_t> out;
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t first =
      std::clamp(from_end(start), std::int64_t{0}, step > 0 ? extent : std::max<std::int64_t>(extent - 1, 0));
  const std::int64_t last = std::clamp(from_end(end), low, extent);
  for (std::int64_t i = first; extent > 0 && (step > 0 ? i < last : i > last); i += step) out.push_back(i);
  return out;
}

TEST(Slice, AgreesWithNumpyForSmallBounds) {
  for (std::int64_t extent = 0; extent <= 4; ++extent)
    for (std::int64_t start = -6; start <= 6; ++start)
      for (std::int64_t end = -6; end <= 6; ++end)
        for (const std::int64_t step : {1, 2, 5, -1, -2, -5}) {
          const auto expected = taken(extent, start, end, step);
          const Definition definition = defined("Slice", slice(extent, start, end, step));
          const auto& output = std::get<Formula>(definition).output(0);
          ASSERT_EQ(output.shape(), (Dims{static_cast<std::int64_t>(expected.size())}))
              << extent << ": " << start << ".." << end << " by " << step;
          if (expected.empty()) continue;
          ASSERT_EQ(output.value->at[0].offset(), Dim(expected[0]));
        }
}

TEST(Slice, KeepsSymbolicExtentsExact) {
  EXPECT_EQ(shape_of("Slice", slice(kLength, 0, kMost)), (Dims{kLength}));
  EXPECT_EQ(shape_of("Slice", slice(kLength, 0, kMost, 2)), (Dims{Dim::ceil(kLength, 2)}));
  EXPECT_EQ(shape_of("Slice", slice(kLength, 2, kMost)), (Dims{Dim::max(kLength - Dim(2), 0)}));
  EXPECT_EQ(shape_of("Slice", slice(kLength, 0, -1)), (Dims{Dim::max(kLength - Dim(1), 0)}));
  EXPECT_EQ(shape_of("Slice", slice(kLength, 0, 5)), (Dims{Dim::min(kLength, 5)}));
}

TEST(Slice, TakesTheLastElementOfASymbolicAxis) {
  const Call call = slice(kLength, -1, kMost);
  EXPECT_EQ(shape_of("Slice", call), (Dims{Dim::min(kLength, 1)}));
  EXPECT_EQ(value_of(call), "x0[a0 + length - 1]");
}

TEST(Slice, ReversesASymbolicAxis) {
  const Call call = slice(kLength, -1, kLeast, -1);
  EXPECT_EQ(shape_of("Slice", call), (Dims{kLength}));
  EXPECT_EQ(value_of(call), "x0[-a0 + length - 1]");
}

TEST(Slice, CutsBySymbolicBounds) {
  const Dim past = Dim::symbol("past");
  EXPECT_EQ(shape_of("Slice", slice(past + kLength, past, kMost)), (Dims{kLength}));
  EXPECT_EQ(shape_of("Slice", slice(512, 0, kLength)), (Dims{Dim::min(kLength, 512)}));
}

TEST(Slice, IsOpaqueWhereTheSignOfABoundIsNotKnown) {
  EXPECT_THAT(opaque_reason("Slice", slice(8, 0, kLength - Dim(3))), HasSubstr("side of zero"));
}

TEST(Slice, IsOpaqueWhereRuntimeAndSpecificationDiffer) {
  EXPECT_THAT(opaque_reason("Slice", slice(8, 5, kMost, -1)), HasSubstr("backwards"));
}

TEST(Slice, RefusesAStepOfZeroAndRepeatedAxes) {
  EXPECT_TRUE(std::holds_alternative<Invalid>(defined("Slice", slice(8, 0, 4, 0))));
  Call twice = float_call(13, {{4, 4}});
  for (int k = 0; k < 2; ++k) twice = with_integers(std::move(twice), {0, 1});
  EXPECT_TRUE(std::holds_alternative<Invalid>(defined("Slice", with_integers(std::move(twice), {1, -1}))));
}

}  // namespace
}  // namespace isomer
