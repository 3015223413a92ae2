#include "model/ops/reshape.h"

#include "model/ops/shared/define.h"
#include "model/ops/shared/test_call.h"

namespace isomer {
namespace {

using testing::HasSubstr;

const Dim kBatch = Dim::symbol("batch"), kLength = Dim::symbol("length");

Call reshape(Dims from, Dims to, std::vector<Attribute> attributes = {}) {
  return with_integers(float_call(14, {std::move(from)}, std::move(attributes)), std::move(to));
}

std::string value_of(const Call& call) {
  const Definition definition = defined("Reshape", call);
  const auto* formula = std::get_if<Formula>(&definition);
  return formula ? text(formula->output(0).value) : "no formula";
}

TEST(Reshape, KeepsAxesThatAreKept) {
  const Call call = reshape({kBatch, kLength, 768}, {0, 0, 12, 64});
  EXPECT_EQ(shape_of("Reshape", call), (Dims{kBatch, kLength, 12, 64}));
  EXPECT_EQ(value_of(call), "x0[a0, a1, 64*a2 + a3]");
}

TEST(Reshape, FindsTheOpenExtentAmongSymbols) {
  EXPECT_EQ(shape_of("Reshape", reshape({kBatch, kLength, 12, 64}, {kBatch, -1, 768})),
            (Dims{kBatch, kLength, 768}));
  EXPECT_EQ(shape_of("Reshape", reshape({kBatch, kLength, 768}, {-1, 768})), (Dims{kBatch * kLength, 768}));
}

TEST(Reshape, TakesApartOnlyTheGroupThatChanges) {
  EXPECT_EQ(value_of(reshape({kBatch, kLength, 768}, {-1, 768})),
            "x0[floor((a0)/length), (a0) mod length, a1]");
  EXPECT_EQ(value_of(reshape({6, kBatch, 2}, {2, 3, kBatch, 2})), "x0[3*a0 + a1, a2, a3]");
}

TEST(Reshape, SkipsExtentsOfOne) { EXPECT_EQ(value_of(reshape({2, 1, 3}, {1, 2, 3, 1})), "x0[a1, 0, a2]"); }

TEST(Reshape, AlignsTrailingAxesWhereTheLeadingOnesAreNotSeenToAgree) {
  const Call call = reshape({kBatch, kLength, 64}, {-1, 5, 64});
  EXPECT_EQ(shape_of("Reshape", call), (Dims{Dim::floor(kBatch * kLength, 5), 5, 64}));
  EXPECT_THAT(value_of(call), HasSubstr(", a2]"));
}

TEST(Reshape, RefusesOtherNumbersOfElements) {
  EXPECT_TRUE(std::holds_alternative<Invalid>(defined("Reshape", reshape({2, 3}, {7}))));
  EXPECT_TRUE(std::holds_alternative<Invalid>(defined("Reshape", reshape({2, 3}, {4, -1}))));
  EXPECT_TRUE(std::holds_alternative<Invalid>(defined("Reshape", reshape({2, 3}, {-1, -1}))));
  EXPECT_TRUE(std::holds_alternative<Invalid>(defined("Reshape", reshape({2, 3}, {2, 3, 0}))));
}

TEST(Reshape, IsOpaqueWithoutTheShape) {
  Call call = reshape({2, 3}, {6});
  call.inputs[1]->integers.reset();
  EXPECT_EQ(opaque_reason("Reshape", call), "the shape input is not known");
}

TEST(Reshape, IsOpaqueWhereARequestedExtentMayBeMinusOne) {
  EXPECT_THAT(opaque_reason("Reshape", reshape({kBatch, 4}, {kLength - Dim(1), 4})), HasSubstr("sign"));
}

TEST(Reshape, TakesZeroLiterallyWhereAllowed) {
  const std::vector<Attribute> allowzero{{"allowzero", std::int64_t{1}}};
  EXPECT_EQ(shape_of("Reshape", reshape({3, 0}, {0, 7}, allowzero)), (Dims{0, 7}));
  EXPECT_EQ(shape_of("Reshape", reshape({3, 0}, {0, 0})), (Dims{3, 0}));
}

}  // namespace
}  // namespace isomer
