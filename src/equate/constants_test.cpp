// The ways in which a constant of one model is found in another's: moved, scaled, combined, solved for.
#include <gtest/gtest.h>

#include "base/hash.h"
#include "equate/combined_constant.h"
#include "equate/moved_constant.h"
#include "equate/scaled_constant.h"
#include "equate/solved_constant.h"
#include "model/graph/interpret.h"
#include "model/graph/testing.h"

namespace isomer {
namespace {

const Opsets kOpsets{{"", 18}};

float number(std::int64_t i, std::int64_t seed) {
  return static_cast<float>((i * 7919 + seed * 104729 + i * i * 31) % 2003 - 1001) / 499.0F;
}

Tensor drawn(const Extents& extents, int seed) {
  std::vector<float> values;
  for (int i = 0; i < static_cast<int>(*element_count(extents)); ++i) values.push_back(number(i, seed));
  return Tensor::of(ElementType::Float, extents, values);
}

Tensor value_of(const Graph& program) {
  auto outcome = interpret(program, {});
  if (!outcome.ok() || outcome->opaque) throw std::runtime_error("it does not run");
  return outcome->outputs.begin()->second;
}

void expect_close(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.extents(), b.extents());
  const auto x = *a.doubles(), y = *b.doubles();
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], 1e-5) << i;
}

TEST(MovedConstant, ConcatenationsAndZerosAreFound) {
  const Tensor v = drawn({3, 4}, 1), w = drawn({2, 4}, 2);
  std::vector<float> values(6 * 5, 0.0F);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 4; ++j) values[i * 5 + j] = v.as<float>()[i * 4 + j];
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 4; ++j) values[(i + 4) * 5 + j + 1] = w.as<float>()[i * 4 + j];
  const Tensor wanted = Tensor::of(ElementType::Float, {6, 5}, values);
  const auto program = MovedConstants({v, w}, {}).find(wanted, kOpsets);
  ASSERT_TRUE(program.has_value());
  EXPECT_TRUE(value_of(*program).same_bits(wanted));
}

TEST(MovedConstant, TurnedFlippedAndStridedPartsAreFound) {
  const Tensor w = drawn({4, 3, 5}, 1);
  std::vector<float> turned, every_second;
  for (std::size_t k = 5; k-- > 0;)
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 3; ++j) turned.push_back(w.as<float>()[(i * 3 + j) * 5 + k]);
  for (std::size_t i = 0; i < 4; i += 2)
    for (std::size_t j = 0; j < 15; ++j) every_second.push_back(w.as<float>()[i * 15 + j]);
  for (const Tensor& wanted : {Tensor::of(ElementType::Float, {5, 4, 3}, turned),
                               Tensor::of(ElementType::Float, {2, 3, 5}, every_second)}) {
    const auto program = MovedConstants({w}, {}).find(wanted, kOpsets);
    ASSERT_TRUE(program.has_value());
    EXPECT_TRUE(value_of(*program).same_bits(wanted));
  }
}

TEST(MovedConstant, InterleavedColumnsAreFound) {
  const Tensor v = drawn({96, 96, 1, 1}, 1), w = drawn({96, 96, 1, 1}, 2);
  std::vector<float> values;
  for (std::size_t i = 0; i < 96 * 96; ++i) {
    values.push_back(v.as<float>()[i]);
    values.push_back(w.as<float>()[i]);
  }
  const Tensor wanted = Tensor::of(ElementType::Float, {96, 192, 1, 1}, values);
  const auto program = MovedConstants({v, w}, {}).find(wanted, kOpsets);
  ASSERT_TRUE(program.has_value());
  EXPECT_TRUE(value_of(*program).same_bits(wanted));
}

TEST(MovedConstant, OtherNumbersAreNotFound) {
  EXPECT_FALSE(MovedConstants({drawn({3, 4}, 1)}, {}).find(drawn({3, 4}, 9), kOpsets).has_value());
}

TEST(ScaledConstant, AVectorAlongAnAxisIsFound) {
  const Tensor w = drawn({6, 5}, 1), s = drawn({5}, 2);
  std::vector<float> values;
  for (std::size_t i = 0; i < 30; ++i) values.push_back(w.as<float>()[i] * s.as<float>()[i % 5]);
  const Tensor wanted = Tensor::of(ElementType::Float, {6, 5}, values);
  const auto program = scaled_constant(wanted, {w, s}, kOpsets);
  ASSERT_TRUE(program.has_value());
  expect_close(value_of(*program), wanted);
  EXPECT_FALSE(scaled_constant(wanted, {w}, kOpsets).has_value());
}

TEST(CombinedConstant, SumsOfTapsAreFound) {
  const Tensor w = drawn({8, 6, 3}, 1);
  std::vector<float> values;
  for (std::size_t p = 0; p < 48; ++p) {
    const float a = w.as<float>()[p * 3], b = w.as<float>()[p * 3 + 1], c = w.as<float>()[p * 3 + 2];
    values.push_back(a);
    values.push_back((a + b) / 2 + c);
  }
  const Tensor wanted = Tensor::of(ElementType::Float, {8, 6, 2}, values);
  const auto program = combined_constant(wanted, {w}, kOpsets);
  ASSERT_TRUE(program.has_value());
  expect_close(value_of(*program), wanted);
}

TEST(SolvedConstant, AConvolutionIsWhatABranchedBlockDoesToImpulses) {
  const std::string head = "<ir_version: 8, opset_import: [\"\" : 18]>\nagraph (float[1,2,8,8] x) => (y) ";
  const auto list = [](const Tensor& t) {
    std::string out;
    for (const float v : t.as<float>()) out += (out.empty() ? "" : ", ") + std::to_string(v);
    return out;
  };
  const Graph a = testing::parsed(head + "<float[2,2,3,3] w = {" + list(drawn({2, 2, 3, 3}, 1)) +
                                  "}> {\ns = Conv<pads=[1,1,1,1]>(x, w)\ny = Add(s, x)\n}");
  const Graph b = testing::parsed(head + "<float[2,2,3,3] k = {" + list(drawn({2, 2, 3, 3}, 7)) +
                                  "}> {\ny = Conv<pads=[1,1,1,1]>(x, k)\n}");
  const auto solved = solved_constants(a, b);
  ASSERT_EQ(solved.size(), 1u);
  std::vector<float> wanted;
  const Tensor w = drawn({2, 2, 3, 3}, 1);
  for (const float v : w.as<float>()) wanted.push_back(std::stof(std::to_string(v)));
  for (std::size_t o = 0; o < 2; ++o) wanted[(o * 2 + o) * 9 + 4] += 1;
  expect_close(value_of(solved[0].program), Tensor::of(ElementType::Float, {2, 2, 3, 3}, wanted));
}

// A node that reads the impulses first may have no second input.
TEST(SolvedConstant, AnInputThatIsAbsentIsNoWeight) {
  const std::string head = "<ir_version: 8, opset_import: [\"\" : 18]>\nagraph (float[1,1,2,2] x) => (y) ";
  const Graph a =
      testing::parsed(head +
                      "<float[4] k = {1.0, 1.0, 2.0, 2.0}> {\nr = Resize<mode=\"nearest\">(x, , k)\n"
                      "y = AveragePool<kernel_shape=[2,2], strides=[2,2]>(r)\n}");
  const Graph b = testing::parsed(head + "<float[1,1,1,1] k = {1.0}> {\ny = Conv(x, k)\n}");
  EXPECT_LE(solved_constants(a, b).size(), 1u);
}

}  // namespace
}  // namespace isomer
