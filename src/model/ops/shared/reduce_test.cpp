#include "model/ops/shared/test_call.h"

namespace isomer {
namespace {

using testing::HasSubstr;

TEST(Reduce, TakesAxesAsAttributeOrInputAsTheOpsetSays) {
  EXPECT_EQ(shape_of("ReduceSum", float_call(12, {{2, 3}}, {{"axes", Int64s{-1}}})), (Dims{2, 1}));
  EXPECT_EQ(shape_of("ReduceSum", with_integers(float_call(13, {{2, 3}}), {-1})), (Dims{2, 1}));
  EXPECT_EQ(
      shape_of("ReduceMean", float_call(17, {{2, 3}}, {{"axes", Int64s{0}}, {"keepdims", std::int64_t{0}}})),
      (Dims{3}));
  EXPECT_EQ(
      shape_of("ReduceMean", with_integers(float_call(18, {{2, 3}}, {{"keepdims", std::int64_t{0}}}), {0})),
      (Dims{3}));
}

TEST(Reduce, OfNoAxesReducesAllOrNone) {
  EXPECT_EQ(shape_of("ReduceMax", with_integers(float_call(18, {{2, 3}}), {})), (Dims{1, 1}));
  EXPECT_EQ(
      shape_of("ReduceMax",
               with_integers(float_call(18, {{2, 3}}, {{"noop_with_empty_axes", std::int64_t{1}}}), {})),
      (Dims{2, 3}));
  EXPECT_EQ(shape_of("ReduceMax", float_call(18, {{2, 3}}, {{"noop_with_empty_axes", std::int64_t{1}}})),
            (Dims{2, 3}));
}

TEST(Reduce, IsOpaqueWhereItsAxesAreNotKnown) {
  Call call = with_integers(float_call(18, {{2, 3}}), {0});
  call.inputs[1]->integers.reset();
  EXPECT_THAT(opaque_reason("ReduceSum", call), HasSubstr("axes"));
  EXPECT_THAT(opaque_reason("ReduceSum", with_integers(float_call(18, {{2, 3}}), {Dim::symbol("a")})),
              HasSubstr("axes"));
}

TEST(Reduce, RefusesAxesOutsideOfTheRank) {
  EXPECT_EQ(refused_attribute("ReduceSum", float_call(12, {{2, 3}}, {{"axes", Int64s{2}}})), "axes");
  EXPECT_EQ(refused_attribute("ReduceMax", float_call(12, {{2, 3}}, {{"axes", Int64s{-3}}})), "axes");
  EXPECT_EQ(refused_attribute("ArgMax", float_call(13, {{2, 3}}, {{"axis", std::int64_t{2}}})), "axis");
}

TEST(Reduce, HasValuesOverNothingOnlyWhereTheyAreFinite) {
  EXPECT_EQ(shape_of("ReduceSum", float_call(13, {{0, 3}})), (Dims{1, 1}));
  EXPECT_EQ(shape_of("ReduceProd", float_call(13, {{0, 3}})), (Dims{1, 1}));
  for (const char* op : {"ReduceMax", "ReduceMin", "ReduceMean", "ReduceLogSumExp"})
    EXPECT_THAT(opaque_reason(op, float_call(13, {{0, 3}})), HasSubstr("no elements")) << op;
}

TEST(Reduce, OfIntegersIsOpaqueWhereItTakesRootsOrLogarithms) {
  for (const char* op : {"ReduceL2", "ReduceLogSum", "ReduceLogSumExp"}) {
    Call call = float_call(13, {{2, 3}});
    call.inputs[0]->type.type = ElementType::Int32;
    EXPECT_THAT(opaque_reason(op, call), HasSubstr("int32")) << op;
  }
}

TEST(Reduce, KeepsSymbolicExtents) {
  const Dim n = Dim::symbol("n");
  EXPECT_EQ(shape_of("ReduceMean", float_call(13, {{n, 4, n}}, {{"axes", Int64s{1}}})), (Dims{n, 1, n}));
  EXPECT_EQ(shape_of("ReduceMean",
                     float_call(13, {{n, 4, n}}, {{"axes", Int64s{0}}, {"keepdims", std::int64_t{0}}})),
            (Dims{4, n}));
}

}  // namespace
}  // namespace isomer
