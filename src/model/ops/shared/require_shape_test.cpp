#include "model/ops/shared/require_shape.h"

#include "model/ops/shared/test_call.h"

namespace isomer {
namespace {

// A formula reads zeros outside of a tensor: an input of another shape must not get a meaning by that.
TEST(RequireShape, InputsOfAnotherShapeHaveNoFormula) {
  const auto is_known = [](const char* op, std::vector<Dims> shapes, std::vector<Attribute> attributes = {}) {
    return std::holds_alternative<Formula>(
        define(*find_operator("com.microsoft", op), float_call(1, std::move(shapes), std::move(attributes))));
  };
  EXPECT_TRUE(is_known("SkipLayerNormalization", {{1, 3, 4}, {1, 3, 4}, {4}, {4}, {4}}));
  EXPECT_FALSE(is_known("SkipLayerNormalization", {{1, 3, 4}, {1, 3, 4}, {5}, {4}, {4}}));
  EXPECT_FALSE(is_known("SkipLayerNormalization", {{1, 3, 4}, {1, 3, 4}, {4}, {3}, {4}}));
  EXPECT_FALSE(is_known("SkipLayerNormalization", {{1, 3, 4}, {1, 3, 4}, {4}, {4}, {5}}));
  EXPECT_FALSE(is_known("SkipLayerNormalization", {{1, 3, 4}, {1, 3, 4}, {4}}, {{"epsilon", -1.0f}}));
  const Attribute heads{"num_heads", 1};
  EXPECT_TRUE(is_known("Attention", {{1, 3, 4}, {4, 12}, {12}}, {heads}));
  EXPECT_FALSE(is_known("Attention", {{1, 3, 4}, {5, 12}, {12}}, {heads}));
  EXPECT_FALSE(is_known("Attention", {{1, 3, 4}, {4, 12}, {11}}, {heads}));
}

TEST(RequireShape, WhatSymbolsLeaveOpenIsNeeded) {
  const Dim n = Dim::symbol("n");
  const Definition definition = define(*find_operator("com.microsoft", "SkipLayerNormalization"),
                                       float_call(1, {{1, 3, n}, {1, 3, n}, {4}}));
  const SizeCondition wanted{.kind = SizeCondition::Kind::Needed, .extent = n - Dim(4)};
  const auto& conditions = std::get<Formula>(definition).conditions;
  EXPECT_NE(std::ranges::find(conditions, wanted), conditions.end());
}

TEST(RequireShape, ValuesThatTheRuntimeRefusesHaveNoFormula) {
  EXPECT_EQ(refused_attribute("Transpose", float_call(13, {{2, 4}}, {{"perm", Int64s{0, -1}}})), "perm");
  EXPECT_EQ(refused_attribute("Flatten", float_call(10, {{2, 4, 3}}, {{"axis", -2}})), "axis");
  EXPECT_EQ(refused_attribute("Flatten", float_call(11, {{2, 4, 3}}, {{"axis", -2}})), "not refused");
  EXPECT_THAT(opaque_reason("LRN", float_call(13, {{1, 3, 4}}, {{"size", 2}})), testing::HasSubstr("even"));
  EXPECT_THAT(opaque_reason("Squeeze", float_call(11, {{1, 4}}, {{"axes", Int64s{}}})),
              testing::HasSubstr("empty list"));
}

}  // namespace
}  // namespace isomer
