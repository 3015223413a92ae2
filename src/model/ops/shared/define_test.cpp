#include "model/ops/shared/define.h"

#include "model/ops/shared/test_call.h"

namespace isomer {
namespace {

using testing::HasSubstr;

std::string invalid_message(std::string_view op, const Call& call) {
  const Definition definition = defined(op, call);
  const auto* invalid = std::get_if<Invalid>(&definition);
  return invalid ? invalid->message : "not invalid";
}

TEST(NormalizeAxis, CountsNegativeAxesFromTheEnd) {
  EXPECT_EQ(normalize_axis(-1, 3), 2);
  EXPECT_EQ(normalize_axis(2, 3), 2);
  EXPECT_EQ(normalize_axis(3, 3), std::nullopt);
  EXPECT_EQ(normalize_axis(-4, 3), std::nullopt);
  EXPECT_EQ(normalize_axis(0, 0), std::nullopt);
}

TEST(NormalizeAxes, RefusesAnAxisThatIsThereTwice) {
  EXPECT_EQ(normalize_axes({0, -1}, 2), (std::vector<int>{0, 1}));
  EXPECT_EQ(normalize_axes({1, -1}, 2), std::nullopt);
}

TEST(Define, RefusesOpsetsThatNobodyHasRead) {
  EXPECT_THAT(opaque_reason("Relu", float_call(6, {{2}})), HasSubstr("opset 6"));
  EXPECT_THAT(opaque_reason("Relu", float_call(29, {{2}})), HasSubstr("opset 29"));
  EXPECT_EQ(opaque_reason("Relu", float_call(28, {{2}})), "not opaque");
}

TEST(Define, FlagsAreZeroOrOne) {
  const auto call = [](std::vector<Dims> shapes, const std::string& flag, std::int64_t value) {
    return float_call(18, std::move(shapes), {{flag, value}});
  };
  const Dims matrix{3, 3}, image{1, 1, 6, 6};
  for (const std::int64_t value : {2, -1}) {
    for (const char* op : {"ReduceMax", "ReduceMean", "ReduceSum", "ReduceLogSumExp", "ArgMax"})
      EXPECT_THAT(opaque_reason(op, call({matrix}, "keepdims", value)), HasSubstr("keepdims is")) << op;
    EXPECT_THAT(opaque_reason("ReduceSum", call({matrix}, "noop_with_empty_axes", value)), HasSubstr("noop"));
    EXPECT_THAT(opaque_reason("ArgMin", call({matrix}, "select_last_index", value)),
                HasSubstr("select_last"));
    for (const char* flag : {"transA", "transB"})
      EXPECT_THAT(opaque_reason("Gemm", call({matrix, matrix}, flag, value)), HasSubstr(flag));
    EXPECT_THAT(opaque_reason("Trilu", call({matrix}, "upper", value)), HasSubstr("upper"));
    EXPECT_THAT(opaque_reason("IsInf", call({matrix}, "detect_negative", value)), HasSubstr("detect"));
    Call pool = call({image}, "ceil_mode", value);
    pool.attributes.set("kernel_shape", Int64s{3, 3});
    EXPECT_THAT(opaque_reason("MaxPool", pool), HasSubstr("ceil_mode"));
    EXPECT_THAT(opaque_reason("Reshape", with_integers(call({matrix}, "allowzero", value), {9})),
                HasSubstr("allowzero"));
  }
}

TEST(Define, RefusesAnOperatorOutsideOfItsOpsets) {
  EXPECT_THAT(invalid_message("Gelu", float_call(19, {{2}})), HasSubstr("since opset 20"));
  EXPECT_THAT(invalid_message("Upsample", float_call(10, {{2}})), HasSubstr("until opset 9"));
}

// A formula reads the attributes that it knows: one more may mean anything, and the runtime refuses it.
TEST(Define, LooksAtAttributesThatAnOperatorDoesNotHave) {
  const auto of_microsoft = [](const char* op, std::vector<Dims> shapes, std::vector<Attribute> attributes) {
    return define(*find_operator("com.microsoft", op),
                  float_call(1, std::move(shapes), std::move(attributes)));
  };
  EXPECT_TRUE(std::holds_alternative<Formula>(of_microsoft("Gelu", {{4}}, {})));
  EXPECT_TRUE(std::holds_alternative<Opaque>(of_microsoft("Gelu", {{4}}, {{"approximate", "none"}})));
  EXPECT_TRUE(
      std::holds_alternative<Formula>(of_microsoft("FusedMatMul", {{2, 3}, {3, 5}}, {{"alpha", 2.0f}})));
  EXPECT_TRUE(std::holds_alternative<Opaque>(of_microsoft("FusedMatMul", {{2, 3}, {3, 5}}, {{"mode", 1}})));
  EXPECT_TRUE(std::holds_alternative<Opaque>(of_microsoft("FusedMatMul", {{2, 3}, {3, 5}}, {{"alpha", 2}})));
  EXPECT_EQ(refused_attribute("Relu", float_call(18, {{4}}, {{"banana", 3}})), "banana");
  EXPECT_EQ(refused_attribute("ReduceMean", float_call(18, {{4, 4}}, {{"axes", Int64s{1}}})), "axes");
  EXPECT_EQ(refused_attribute("ReduceMean", float_call(13, {{4, 4}}, {{"axes", Int64s{1}}})), "not refused");
}

TEST(Define, IsOpaqueForTypesThatAnOperatorDoesNotTake) {
  Call call = float_call(13, {{2}, {2}});
  EXPECT_EQ(opaque_reason("Pow", call), "not opaque");
  for (auto& input : call.inputs) input->type.type = ElementType::Int8;
  EXPECT_THAT(opaque_reason("Pow", call), HasSubstr("input 0 of Pow is of type int8"));
}

TEST(Define, InputsOfOneTypeParameterAreOfOneType) {
  Call call = float_call(1, {{2, 3}, {}, {}, {}, {}});
  for (const std::size_t k : {0U, 2U, 4U}) call.inputs[k]->type.type = ElementType::Int8;
  const Operator& op = *find_operator("com.microsoft", "QLinearSigmoid");
  EXPECT_TRUE(std::holds_alternative<Formula>(define(op, call)));
  call.inputs[4]->type.type = ElementType::Uint8;
  const Definition definition = define(op, call);
  ASSERT_TRUE(std::holds_alternative<Opaque>(definition));
  EXPECT_THAT(std::get<Opaque>(definition).reason, HasSubstr("inputs 0 and 4"));
}

TEST(Define, RefusesMissingAndSurplusInputs) {
  EXPECT_THAT(invalid_message("Add", float_call(14, {{2}})), HasSubstr("input 1"));
  EXPECT_THAT(invalid_message("Add", float_call(14, {{2}, {2}, {2}})), HasSubstr("at most 2 inputs"));
  Call with_hole = float_call(14, {{2}, {2}});
  with_hole.inputs[0].reset();
  EXPECT_THAT(invalid_message("Add", with_hole), HasSubstr("input 0"));
}

TEST(Define, RefusesMoreOutputsThanThereAre) {
  Call call = float_call(14, {{2}});
  call.output_count = 2;
  EXPECT_THAT(invalid_message("Relu", call), HasSubstr("has 2 outputs"));
}

TEST(Define, IsOpaqueForTypesThatFormulasCannotCompute) {
  Call call = float_call(14, {{2}});
  for (const ElementType type :
       {ElementType::String, ElementType::Float8E4M3FN, ElementType::Int4, ElementType::Complex64}) {
    call.inputs[0]->type.type = type;
    EXPECT_THAT(opaque_reason("Identity", call), HasSubstr(std::string(name(type))));
  }
}

TEST(Define, NamesAnAttributeOfTheWrongKind) {
  EXPECT_EQ(refused_attribute("Flatten", float_call(13, {{2, 3}}, {{"axis", std::string("1")}})), "axis");
  EXPECT_EQ(refused_attribute("LeakyRelu", float_call(16, {{2}}, {{"alpha", std::int64_t{1}}})), "alpha");
  EXPECT_EQ(refused_attribute("Transpose", float_call(13, {{2}}, {{"perm", std::int64_t{0}}})), "perm");
}

TEST(Define, IsInvalidWhereConcreteExtentsOverflowAndOpaqueWhereSymbolsAreThere) {
  const Dim huge = std::int64_t{1} << 40;
  EXPECT_THAT(invalid_message("Flatten", float_call(13, {{1, huge, huge}})), HasSubstr("64 bits"));
  EXPECT_THAT(opaque_reason("Flatten", float_call(13, {{Dim::symbol("n"), huge, huge}})),
              HasSubstr("64 bits"));
}

TEST(Define, IsOpaqueForTooManyAxesAndInputs) {
  EXPECT_THAT(opaque_reason("Relu", float_call(14, {Dims(65, 1)})), HasSubstr("axes"));
  EXPECT_THAT(opaque_reason("Expand", with_integers(float_call(13, {{1}}), Dims(65, 1))), HasSubstr("axes"));
  EXPECT_THAT(opaque_reason("Sum", float_call(13, std::vector<Dims>(2000, {2}))), HasSubstr("inputs"));
}

TEST(Elementwise, RefusesShapesThatDoNotBroadcast) {
  EXPECT_THAT(invalid_message("Add", float_call(14, {{2, 3}, {2, 4}})), HasSubstr("broadcast"));
}

TEST(Elementwise, IsOpaqueForDifferentTypesAndTypesOfAnotherKind) {
  Call call = float_call(14, {{2}, {2}});
  call.inputs[1]->type.type = ElementType::Double;
  EXPECT_THAT(opaque_reason("Add", call), HasSubstr("float and double"));
  Call whole = float_call(14, {{2}});
  whole.inputs[0]->type.type = ElementType::Int64;
  EXPECT_THAT(opaque_reason("Sin", whole), HasSubstr("int64"));
}

TEST(Elementwise, BroadcastsSymbolicExtentsWithOnes) {
  const Dim batch = Dim::symbol("batch");
  EXPECT_EQ(shape_of("Add", float_call(14, {{batch, 1, 4}, {3, 1}})), (Dims{batch, 3, 4}));
}

}  // namespace
}  // namespace isomer
