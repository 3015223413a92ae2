#include "model/ops/shared/test_call.h"

namespace isomer {
namespace {

using testing::HasSubstr;

std::vector<Attribute> equation(const std::string& text) { return {{"equation", text}}; }

TEST(MatMul, BroadcastsSymbolicBatches) {
  const Dim b = Dim::symbol("b"), s = Dim::symbol("s");
  EXPECT_EQ(shape_of("MatMul", float_call(13, {{b, 12, s, 64}, {b, 12, 64, s}})), (Dims{b, 12, s, s}));
  EXPECT_EQ(shape_of("MatMul", float_call(13, {{b, s, 64}, {64, 32}})), (Dims{b, s, 32}));
  EXPECT_EQ(shape_of("MatMul", float_call(13, {{b, 1, s, 8}, {4, 8, 2}})), (Dims{b, 4, s, 2}));
}

TEST(MatMul, TakesVectors) {
  EXPECT_EQ(shape_of("MatMul", float_call(13, {{3}, {2, 3, 4}})), (Dims{2, 4}));
  EXPECT_EQ(shape_of("MatMul", float_call(13, {{2, 4, 3}, {3}})), (Dims{2, 4}));
  EXPECT_TRUE(std::holds_alternative<Formula>(defined("MatMul", float_call(13, {{3}, {3}}))));
}

TEST(MatMul, RefusesUnequalInnerExtents) {
  EXPECT_TRUE(std::holds_alternative<Invalid>(defined("MatMul", float_call(13, {{2, 3}, {4, 5}}))));
  EXPECT_TRUE(std::holds_alternative<Invalid>(defined("MatMul", float_call(13, {{2, 2, 3}, {3, 3, 5}}))));
  EXPECT_TRUE(std::holds_alternative<Invalid>(defined("MatMul", float_call(13, {{}, {3}}))));
}

TEST(Gemm, NeedsItsThirdInputBeforeOpset11) {
  EXPECT_TRUE(std::holds_alternative<Invalid>(defined("Gemm", float_call(9, {{2, 3}, {3, 4}}))));
  EXPECT_EQ(shape_of("Gemm", float_call(11, {{2, 3}, {3, 4}})), (Dims{2, 4}));
}

TEST(Gemm, RefusesABiasThatWouldWidenTheProduct) {
  EXPECT_TRUE(std::holds_alternative<Invalid>(defined("Gemm", float_call(13, {{1, 3}, {3, 4}, {2, 4}}))));
  EXPECT_TRUE(std::holds_alternative<Invalid>(defined("Gemm", float_call(13, {{2, 3}, {3, 4}, {1, 2, 4}}))));
}

TEST(Gemm, OfIntegersIsOpaqueWhereItScales) {
  Call call = float_call(13, {{2, 3}, {3, 4}}, {{"alpha", 0.5F}});
  for (auto& input : call.inputs) input->type.type = ElementType::Int32;
  EXPECT_THAT(opaque_reason("Gemm", call), HasSubstr("integers"));
}

TEST(Einsum, SortsTheLabelsOfAnImplicitOutput) {
  EXPECT_EQ(shape_of("Einsum", float_call(12, {{2, 3}}, equation("ba"))), (Dims{3, 2}));
  EXPECT_EQ(shape_of("Einsum", float_call(12, {{2, 3}, {3, 4}}, equation("ij,jk"))), (Dims{2, 4}));
  EXPECT_EQ(shape_of("Einsum", float_call(12, {{5, 2, 3}, {5, 3, 4}}, equation("...ij,...jk"))),
            (Dims{5, 2, 4}));
}

TEST(Einsum, RefusesEquationsThatDoNotFitTheOperands) {
  EXPECT_EQ(refused_attribute("Einsum", float_call(12, {{2, 3}}, equation("ijk->i"))), "equation");
  EXPECT_EQ(refused_attribute("Einsum", float_call(12, {{2, 3}}, equation("ij,jk->ik"))), "equation");
  EXPECT_EQ(refused_attribute("Einsum", float_call(12, {{2, 3}, {3, 4}}, equation("ij->i"))), "equation");
  EXPECT_EQ(refused_attribute("Einsum", float_call(12, {{2, 3}}, equation("ij->ik"))), "equation");
  EXPECT_EQ(refused_attribute("Einsum", float_call(12, {{2, 3}}, equation("ij->ii"))), "equation");
  EXPECT_EQ(refused_attribute("Einsum", float_call(12, {{2}}, equation("...ij->...i"))), "equation");
}

TEST(Einsum, IsOpaqueOnWhatIsNotClear) {
  EXPECT_NE(opaque_reason("Einsum", float_call(12, {{2, 3}}, equation("BA"))), "not opaque");
  EXPECT_NE(opaque_reason("Einsum", float_call(12, {{1, 3}}, equation("ii->i"))), "not opaque");
  EXPECT_NE(opaque_reason("Einsum", float_call(12, {{2, 3, 4}}, equation("i..->i"))), "not opaque");
  EXPECT_NE(opaque_reason("Einsum", float_call(12, {{2, 3}}, equation("...i->i"))), "not opaque");
  EXPECT_NE(opaque_reason("Einsum", float_call(12, {{2, 3}, {4}}, equation("...i,...->...i"))), "not opaque");
  EXPECT_NE(opaque_reason("Einsum", float_call(12, {{2, 3}, {4, 5}}, equation("ij,jk->ik"))), "not opaque");
}

}  // namespace
}  // namespace isomer
