// Attention, and com.microsoft's own: where runtimes differ nothing is said.
#include "model/eval/program.h"
#include "model/ops/shared/test_call.h"

namespace isomer {
namespace {

using testing::HasSubstr;

Definition multi_head(std::int64_t queries, std::int64_t keys, std::int64_t unidirectional) {
  return define(*find_operator("com.microsoft", "MultiHeadAttention"),
                float_call(1, {{1, queries, 2}, {1, keys, 2}, {1, keys, 2}},
                           {{"num_heads", 1}, {"unidirectional", unidirectional}}));
}

// With equal scores a query's answer is the mean of the values that it sees: of 0, 1, 2, ... up to the last,
// n / 2.
std::vector<double> last_seen(std::int64_t queries, std::int64_t keys) {
  const Definition definition = multi_head(queries, keys, 1);
  std::vector<float> zeros(static_cast<std::size_t>(2 * keys), 0), places;
  for (std::int64_t k = 0; k < keys; ++k) places.insert(places.end(), 2, static_cast<float>(k));
  const std::vector<float> none(static_cast<std::size_t>(2 * queries), 0);
  const auto out = Program::compile(std::get<Formula>(definition))
                       .run({Tensor::of(ElementType::Float, {1, queries, 2}, none),
                             Tensor::of(ElementType::Float, {1, keys, 2}, zeros),
                             Tensor::of(ElementType::Float, {1, keys, 2}, places)});
  std::vector<double> seen;
  const auto numbers = *(*out)[0].doubles();
  for (std::size_t k = 0; k < numbers.size(); k += 2) seen.push_back(2 * numbers[k]);
  return seen;
}

// ONNX Runtime's last query sees all keys, the others those up to their own place.
TEST(Attention, TheLastQuerySeesAllKeys) {
  EXPECT_EQ(last_seen(1, 4), (std::vector<double>{3}));
  EXPECT_EQ(last_seen(3, 3), (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(last_seen(4, 2), (std::vector<double>{0, 1, 1, 1}));
}

TEST(Attention, IsOpaqueWhereTheOrderOfQueriesAndKeysIsTheRuntimesOwn) {
  EXPECT_TRUE(std::holds_alternative<Opaque>(multi_head(2, 5, 1)));
  EXPECT_TRUE(std::holds_alternative<Formula>(multi_head(2, 5, 0)));
  const auto of_length = [](const Dim& queries, const Dim& keys) {
    return define(*find_operator("com.microsoft", "MultiHeadAttention"),
                  float_call(1, {{1, queries, 2}, {1, keys, 2}, {1, keys, 2}},
                             {{"num_heads", 1}, {"unidirectional", 1}}));
  };
  const Dim n = Dim::symbol("n");
  EXPECT_TRUE(std::holds_alternative<Opaque>(of_length(2, n)));
  EXPECT_TRUE(std::holds_alternative<Opaque>(of_length(n, n + Dim(1))));
  EXPECT_TRUE(std::holds_alternative<Formula>(of_length(n, n)));
  EXPECT_TRUE(std::holds_alternative<Formula>(of_length(1, n)));
}

TEST(Attention, IsOpaqueWithASoftcapWhereTheScoresAreUsed) {
  for (const int opset : {23, 24}) {
    Call call = float_call(opset, {{1, 1, 2, 2}, {1, 1, 3, 2}, {1, 1, 3, 2}}, {{"softcap", 1.5f}});
    EXPECT_EQ(opaque_reason("Attention", call), "not opaque");
    call.output_count = 4;
    EXPECT_THAT(opaque_reason("Attention", call), HasSubstr("softcap"));
    call.attributes.set("qk_matmul_output_mode", std::int64_t{1});
    EXPECT_THAT(opaque_reason("Attention", call), HasSubstr("softcap"));
    call.attributes.set("softcap", 0.0f);
    EXPECT_EQ(opaque_reason("Attention", call), "not opaque");
  }
}

}  // namespace
}  // namespace isomer
