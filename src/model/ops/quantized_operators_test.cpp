#include <limits>

#include "model/eval/program.h"
#include "model/expr/parts.h"
#include "model/ops/shared/test_call.h"

namespace isomer {
namespace {

using testing::HasSubstr;

// A call of inputs of these types and shapes; opset 1 is that of ONNX Runtime's own domain.
Call typed_call(int opset, std::vector<TensorType> types, std::vector<Attribute> attributes = {}) {
  Call call;
  call.opset = opset;
  for (TensorType& type : types) call.inputs.push_back(Call::Input{.type = std::move(type)});
  call.attributes = Attributes(std::move(attributes));
  return call;
}

constexpr ElementType kByte = ElementType::Uint8, kSigned = ElementType::Int8, kFloat = ElementType::Float;

Call conv_call(const Dim& channels, ElementType x = kByte) {
  return typed_call(10, {{x, {1, channels, 8, 8}},
                         {kFloat, {}},
                         {x, {}},
                         {kSigned, {4, channels, 3, 3}},
                         {kFloat, {4}},
                         {kSigned, {4}},
                         {kFloat, {}},
                         {x, {}}});
}

// Whether sums are made of integers that wrap.
bool wraps(const Definition& definition) {
  const auto* formula = std::get_if<Formula>(&definition);
  if (formula == nullptr) return false;
  const auto adds = [](const ExprNode& e) {
    return e.kind == ExprNode::Kind::Reduce && e.type == ElementType::Int32;
  };
  return std::ranges::any_of(formula->stages, [&](const Stage& s) { return any_part(*s.value, adds); });
}

Definition runtimes(std::string_view op, const Call& call) {
  return define(*find_operator("com.microsoft", op), call);
}

std::string reason(const Definition& definition) {
  if (const auto* opaque = std::get_if<Opaque>(&definition)) return "opaque: " + opaque->reason;
  if (const auto* invalid = std::get_if<Invalid>(&definition)) return "invalid: " + invalid->message;
  return "a formula";
}

TEST(QLinearConv, AddsRealNumbersWhereTheyFitInto32Bits) {
  EXPECT_FALSE(wraps(defined("QLinearConv", conv_call(64))));
  EXPECT_EQ(reason(defined("QLinearConv", conv_call(64))), "a formula");
  EXPECT_TRUE(wraps(defined("QLinearConv", conv_call(33'026 / 9 + 1))));
  EXPECT_TRUE(wraps(defined("QLinearConv", conv_call(Dim::symbol("c")))));
}

TEST(QLinearConv, WrapsWhereItsBiasIsNotKnownOrTooLarge) {
  const auto with_bias = [](std::optional<std::int32_t> value) {
    Call call = conv_call(16);
    call.inputs.push_back(Call::Input{.type = {ElementType::Int32, {4}}});
    if (value) call.inputs.back()->constant = Tensor::of(ElementType::Int32, {4}, std::vector(4, *value));
    return defined("QLinearConv", call);
  };
  EXPECT_FALSE(wraps(with_bias(100'000)));
  EXPECT_FALSE(wraps(with_bias(-100'000)));
  EXPECT_TRUE(wraps(with_bias(std::numeric_limits<std::int32_t>::max())));
  EXPECT_TRUE(wraps(with_bias(std::numeric_limits<std::int32_t>::min())));
  EXPECT_TRUE(wraps(with_bias(std::nullopt)));
}

TEST(QLinearConv, RefusesScalesThatAreNotOnePerChannel) {
  Call call = conv_call(3);
  call.inputs[4]->type.shape = {3};
  EXPECT_THAT(reason(defined("QLinearConv", call)), HasSubstr("invalid"));
  call = conv_call(3);
  call.inputs[1]->type.shape = {3};
  EXPECT_THAT(reason(defined("QLinearConv", call)), HasSubstr("opaque"));
  EXPECT_THAT(reason(defined("QLinearConv", conv_call(3, ElementType::Int16))), HasSubstr("int16"));
}

TEST(QLinearConv, RefusesAZeroPointOfAnotherType) {
  Call call = conv_call(3);
  call.inputs[2]->type.type = kSigned;
  EXPECT_THAT(reason(defined("QLinearConv", call)), HasSubstr("zero point"));
}

TEST(MatMulNBits, RefusesWhatItIsNot) {
  const auto call = [](std::int64_t bits, std::int64_t block, const Dims& weight) {
    return typed_call(
        1, {{kFloat, {2, 40}}, {kByte, weight}, {kFloat, {3 * 3}}},
        {{"K", std::int64_t{40}}, {"N", std::int64_t{3}}, {"bits", bits}, {"block_size", block}});
  };
  EXPECT_EQ(reason(runtimes("MatMulNBits", call(4, 16, {3, 3, 8}))), "a formula");
  EXPECT_THAT(reason(runtimes("MatMulNBits", call(4, 16, {3, 3, 16}))), HasSubstr("invalid"));
  EXPECT_THAT(reason(runtimes("MatMulNBits", call(3, 16, {3, 3, 8}))), HasSubstr("invalid"));
  EXPECT_THAT(reason(runtimes("MatMulNBits", call(4, 24, {3, 2, 12}))), HasSubstr("invalid"));
}

TEST(GroupQueryAttention, NeedsItsTotalLength) {
  Call call = typed_call(1,
                         {{kFloat, {1, 1, 32}},
                          {kFloat, {1, 1, 16}},
                          {kFloat, {1, 1, 16}},
                          {kFloat, {1, 2, 5, 8}},
                          {kFloat, {1, 2, 5, 8}},
                          {ElementType::Int32, {1}},
                          {ElementType::Int32, {1}}},
                         {{"num_heads", std::int64_t{4}}, {"kv_num_heads", std::int64_t{2}}});
  call.output_count = 3;
  EXPECT_THAT(reason(runtimes("GroupQueryAttention", call)), HasSubstr("total length"));
  call.inputs[6]->integers = Dims{6};
  const Definition definition = runtimes("GroupQueryAttention", call);
  ASSERT_EQ(reason(definition), "a formula");
  EXPECT_EQ(std::get<Formula>(definition).output_type(1).shape, (Dims{1, 2, 6, 8}));
  call.inputs[6]->integers = Dims{3};  // a cache that is longer than what is in use
  EXPECT_EQ(std::get<Formula>(runtimes("GroupQueryAttention", call)).output_type(1).shape,
            (Dims{1, 2, 5, 8}));
}

Tensor numbers(const Extents& extents, int seed) {
  std::vector<float> values(static_cast<std::size_t>(*element_count(extents)));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((static_cast<int>(i) * 37 + seed) % 19 - 9) / 8;
  return Tensor::of(kFloat, extents, values);
}

// Where all positions are said to be in use, what is where follows from the sizes: the same numbers, and
// nothing that may fail but for a table of angles that is too short.
TEST(GroupQueryAttention, OfFullSequencesIsTheSame) {
  for (const std::int64_t length : {1, 2}) {
    const std::int64_t past = 5, total = past + length;
    Call call = typed_call(
        1,
        {{kFloat, {1, length, 4 * 8}},
         {kFloat, {1, length, 2 * 8}},
         {kFloat, {1, length, 2 * 8}},
         {kFloat, {1, 2, past, 8}},
         {kFloat, {1, 2, past, 8}},
         {ElementType::Int32, {1}},
         {ElementType::Int32, {1}},
         {kFloat, {16, 4}},
         {kFloat, {16, 4}}},
        {{"num_heads", std::int64_t{4}}, {"kv_num_heads", std::int64_t{2}}, {"do_rotary", std::int64_t{1}}});
    call.output_count = 3;
    call.inputs[6]->integers = Dims{total};
    const Definition general = runtimes("GroupQueryAttention", call);
    call.inputs[5]->integers = Dims{total - 1};
    const Definition full = runtimes("GroupQueryAttention", call);
    ASSERT_EQ(reason(general), "a formula");
    ASSERT_EQ(reason(full), "a formula");
    const auto whole = [](std::int64_t n) {
      return Tensor::of(ElementType::Int32, {1}, std::vector{static_cast<std::int32_t>(n)});
    };
    const std::vector<std::optional<Tensor>> inputs{numbers({1, length, 32}, 1),
                                                    numbers({1, length, 16}, 2),
                                                    numbers({1, length, 16}, 3),
                                                    numbers({1, 2, past, 8}, 4),
                                                    numbers({1, 2, past, 8}, 5),
                                                    whole(total - 1),
                                                    whole(total),
                                                    numbers({16, 4}, 6),
                                                    numbers({16, 4}, 7)};
    const auto a = Program::compile(std::get<Formula>(general)).run(inputs),
               b = Program::compile(std::get<Formula>(full)).run(inputs);
    ASSERT_TRUE(a.ok() && b.ok());
    for (std::size_t o = 0; o < 3; ++o) {
      ASSERT_EQ((*a)[o].extents(), (*b)[o].extents());
      for (std::int64_t i = 0; i < (*a)[o].count(); ++i)
        EXPECT_NEAR((*a)[o].as<float>()[static_cast<std::size_t>(i)],
                    (*b)[o].as<float>()[static_cast<std::size_t>(i)], 1e-5);
    }
    const auto may_fail = [](const Definition& d) {
      return std::ranges::any_of(std::get<Formula>(d).conditions,
                                 [](const SizeCondition& c) { return c.extent.is(-1); });
    };
    EXPECT_TRUE(may_fail(general));
    EXPECT_FALSE(may_fail(full));
  }
}

// What a part takes for granted, the whole does.
TEST(Composition, KeepsTheConditionsOfItsParts) {
  const Dim n = Dim::symbol("n"), k = Dim::symbol("k");
  const Definition definition = defined("QLinearMatMul", typed_call(10, {{kByte, {4, n}},
                                                                         {kFloat, {}},
                                                                         {kByte, {}},
                                                                         {kByte, {k, 3}},
                                                                         {kFloat, {}},
                                                                         {kByte, {}},
                                                                         {kFloat, {}},
                                                                         {kByte, {}}}));
  ASSERT_EQ(reason(definition), "a formula");
  const auto& conditions = std::get<Formula>(definition).conditions;
  EXPECT_TRUE(std::ranges::any_of(conditions, [&](const SizeCondition& c) {
    return c.kind == SizeCondition::Kind::Needed && (c.extent == n - k || c.extent == k - n);
  }));
}

TEST(Composition, KeepsTheIndicesOfItsParts) {
  const ElementType type = ElementType::Int64;
  const Definition definition =
      runtimes("RotaryEmbedding",
               typed_call(1, {{kFloat, {2, 3, 8}}, {type, {2, 3}}, {kFloat, {9, 4}}, {kFloat, {9, 4}}}));
  ASSERT_EQ(reason(definition), "a formula");
  const auto& ranges = std::get<Formula>(definition).ranges;
  ASSERT_FALSE(ranges.empty());
  EXPECT_EQ(ranges[0].input, 1);
  EXPECT_EQ(ranges[0].extent, Dim(9));
}

}  // namespace
}  // namespace isomer
